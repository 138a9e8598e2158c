"""Function words by language. Clitics are written as tokenisers split them off."""

STOP_WORDS = {
    lang: frozenset(words.split())
    for lang, words in {
        "en": """
            a an the this that these those some any no every each all both either neither such
            i you he she it we they me him her us them my your his its our their who whom whose which what
            and or but nor so yet if because as than while when where why how though although since until
            of in on at by for from to with without into onto over under after before between among
            against about during through within upon off out up down near per via amid
            is are was were be been being am has have had do does did will would can could may might
            shall should must not also there here then too very more most less least other another own same
            's 't 'd 'll 're 've 'm n't s t
        """,
        "de": """
            der die das den dem des ein eine einer eines einem einen dieser diese dieses diesem diesen jener jene
            jenes kein keine keiner keines keinem keinen jeder jede jedes jedem jeden alle allen aller alles beide
            beiden ich du er sie es wir ihr mich dich ihn uns euch mir dir ihm ihnen sich man wer wen wem wessen was
            welche welcher mein meine dein deine sein seine seiner seinem seinen ihre ihrer ihrem ihren unser unsere
            und oder aber doch sondern denn weil wenn als wie dass daß ob obwohl während bis damit sowie so in im ins
            an am ans auf aus bei beim von vom zu zum zur mit nach für gegen um über unter vor hinter neben zwischen
            durch ohne seit wegen trotz per ab ist sind war waren bin bist sei wird werden wurde wurden worden hat
            haben hatte hatten habe kann können konnte muss müssen will wollen soll sollen darf dürfen mag möchte
            würde nicht nur auch noch schon hier da dort dann mehr sehr
        """,
        "fr": """
            le la les l' un une des du de d' ce cet cette ces mon ma mes ton ta tes son sa ses notre nos votre vos
            leur leurs je j' tu il elle on nous vous ils elles me m' te t' se s' lui y en qui que qu' quoi dont où
            quel quelle quels quelles et ou mais donc ni car si comme quand lorsque puisque alors à au aux dans sur
            sous par pour avec sans vers chez entre contre depuis pendant après avant est sont était étaient être été
            a ont avait avaient avoir fait va vont sera seront ne n' pas plus moins très aussi tout toute tous toutes
            même aucun aucune chaque
        """,
        "es": """
            el la los las lo un una unos unas este esta estos estas ese esa esos esas aquel aquella mi mis tu tus su
            sus nuestro nuestra yo tú él ella ellos ellas nosotros usted ustedes me te se nos le les que quien quienes
            cual cuales qué cuyo donde cuando como y e o u pero sino ni si porque aunque mientras pues a al ante bajo
            con contra de del desde durante en entre hacia hasta para por sin sobre tras es son era eran ser sido fue
            fueron está están estaba ha han había haber hay no más menos muy también ya todo toda todos todas otro
            otra
        """,
    }.items()
}
