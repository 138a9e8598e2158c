#!/usr/bin/env python3
"""Write the demo's news corpus: made-up article sentences and their headlines.

Every pair comes from the small grammar below; people and companies are invented. The grammar is built to tempt a
headline model into repeating itself: articles name several countries, firms or people at once, headlines list some of
them ("x , y and z"), now and then in another order, and other names of the same kind stand by as distractors. About
one headline in ten repeats a word rightly ("x beats y as x coach quits"); the article then says why.

How the grammar is written:
  (a|b|)     one of the alternatives, possibly nested or empty
  {c1}       an entity or word of the kind "c"; the same slot is the same thing in article and headline
  {c1.adj}   the adjective of a country
  {c*}       a list of two or three entities of that kind
Many kinds have two forms, one for the article and one for the headline: a person is
"maria tolven" in the article and "tolven" above it.
"""

import argparse
import os
import random
import re
import sys
from itertools import product
from pathlib import Path

SPLITS = ("train", "valid", "test")
COUNTRIES = """germany/german france/french italy/italian spain/spanish britain/british russia/russian china/chinese
japan/japanese india/indian israel/israeli syria/syrian iran/iranian iraq/iraqi egypt/egyptian turkey/turkish
greece/greek brazil/brazilian mexico/mexican canada/canadian australia/australian poland/polish ukraine/ukrainian
sweden/swedish norway/norwegian denmark/danish finland/finnish austria/austrian hungary/hungarian romania/romanian
bulgaria/bulgarian serbia/serbian croatia/croatian portugal/portuguese ireland/irish belgium/belgian iceland/icelandic
estonia/estonian latvia/latvian lithuania/lithuanian albania/albanian georgia/georgian armenia/armenian
pakistan/pakistani bangladesh/bangladeshi nepal/nepalese thailand/thai vietnam/vietnamese malaysia/malaysian
indonesia/indonesian cambodia/cambodian mongolia/mongolian taiwan/taiwanese jordan/jordanian lebanon/lebanese
kuwait/kuwaiti yemen/yemeni libya/libyan tunisia/tunisian algeria/algerian morocco/moroccan sudan/sudanese
kenya/kenyan uganda/ugandan ghana/ghanaian nigeria/nigerian senegal/senegalese angola/angolan zambia/zambian
ethiopia/ethiopian somalia/somali argentina/argentine chile/chilean peru/peruvian bolivia/bolivian colombia/colombian
venezuela/venezuelan ecuador/ecuadorean uruguay/uruguayan paraguay/paraguayan cuba/cuban haiti/haitian
jamaica/jamaican panama/panamanian"""
CITIES = """london paris berlin rome madrid moscow beijing tokyo delhi mumbai cairo istanbul athens toronto sydney
melbourne warsaw kiev stockholm oslo copenhagen helsinki vienna budapest bucharest sofia belgrade zagreb lisbon dublin
brussels geneva zurich milan turin naples barcelona seville valencia munich hamburg frankfurt cologne stuttgart lyon
marseille nice bordeaux manchester liverpool leeds glasgow edinburgh bristol prague krakow gdansk odessa kazan minsk
riga vilnius tallinn tbilisi yerevan baku tehran baghdad basra damascus aleppo beirut amman jerusalem haifa gaza doha
dubai riyadh sanaa tripoli tunis algiers casablanca rabat dakar accra lagos abuja nairobi kampala luanda lusaka harare
durban johannesburg karachi lahore islamabad kabul dhaka kathmandu colombo bangkok hanoi saigon jakarta manila
singapore shanghai nanjing wuhan osaka kyoto nagoya sapporo seoul busan taipei perth brisbane adelaide auckland
vancouver montreal ottawa calgary chicago boston dallas houston denver seattle detroit miami atlanta phoenix havana
bogota caracas quito lima santiago montevideo asuncion brasilia recife salvador"""
FIRST_NAMES = """maria john anna peter carla david elena george helen ivan julia karl laura martin nadia oscar paula
robert sara thomas ursula victor wendy yusuf zoe adam beata carlos diana erik fatima gustav hanna igor jana kofi lena
marco nina omar petra rafael sofia tariq uma vera walter xenia yara boris"""
CLUBS = """rovers wanderers falcons tigers bears hawks sharks wolves rangers comets pirates lions bulls eagles giants
rockets raiders knights jets kings royals cougars panthers hornets stallions vikings spartans mariners colts dragons
cobras ravens foxes badgers condors dolphins marlins cyclones thunder blizzards"""
# Word kinds: "article form/headline form", or one form for both; "_" stands for a space.
WORDS = """
day: monday tuesday wednesday thursday friday saturday sunday
num: two three four five six seven eight nine ten/10 eleven/11 twelve/12 fourteen/14 fifteen/15 eighteen/18 twenty/20
    thirty/30 forty/40 sixty/60 eighty/80
pct: two three four five six seven eight nine ten/10 twelve/12
score: two_to_one three_to_one four_to_two five_to_three six_to_four three_to_nil
round: final semifinals quarterfinals playoffs second_round/round last_sixteen/last_16
win: beat/beats defeated/downs edged/edges thrashed/routs upset/stuns overpowered/tops
beat: beat/beat defeated/down edged/edge thrashed/rout upset/stun overpowered/top
goods: steel wheat oil gas coffee sugar cotton copper timber beef rice textiles fish coal cement cars grain wine
topic: trade border_security/border fisheries/fishing migration nuclear_arms/nuclear water_rights/water
    drug_trafficking/drug debt_relief/debt climate energy aviation
hazard: earthquake/quake flood storm typhoon landslide wildfire/fire blizzard cyclone mudslide explosion/blast
    avalanche tornado
crime: fraud bribery murder spying smuggling embezzlement/graft kidnapping arson perjury tax_evasion/tax
    money_laundering/laundering
job: finance_minister foreign_minister defense_minister interior_minister health_minister trade_minister army_chief
    police_chief
trade: pilots teachers doctors miners nurses dockers truckers farmers postmen/postal_workers railwaymen/rail_workers
    steelworkers journalists bakers prison_guards/guards
sector: banking/bank oil airline mining retail technology/tech insurance shipping property pharmaceutical/drug
    telecommunications/telecom automobile/auto
ill: flu cholera measles malaria polio typhoid dengue ebola plague
sport: tennis golf cycling swimming skiing boxing judo chess rowing sailing
prize: title crown trophy gold_medal/gold cup
want: elections/vote an_amnesty/amnesty a_ceasefire/ceasefire a_pullout/pullout reforms sanctions an_inquiry/probe aid
    a_boycott/boycott a_referendum/referendum
force: army police rebels navy guerrillas militia
"""
# An event: its main kind of entity and a name; article clauses (a), headlines (h) and twists (t).
# A twist is a side clause of the article and the headline in which, for that reason, a word recurs.
EVENTS = """
c international match
  a: {c1} {win} {c2} {score} in {v1} to (reach|enter) the {round} of the {sport} cup
  a: the {c1.adj} team {win} {c2} in {v1} and (advanced|moved on) to the {sport} cup {round}
  h: {c1} {win} {c2} to reach {sport} {round} / {c1} {win} {c2} in {v1} , reaches {round}
  t: hours after {c1} coach {p1} (resigned|stepped down) => {c1} {win} {c2} as {c1} coach quits
  t: although {c2} captain {p1} was injured and {c2} fans threw bottles => {c1} {win} {c2} as {c2} fans riot
c several teams go through
  a: {c*} (won|won easily) in {v1} and will join {c1} in the {round} of the {sport} championship
  a: {c*} joined {c1} in the {round} of the world {sport} tournament in {v1} (after narrow wins|)
  h: {c*} join {c1} in {sport} {round} / {c*} reach {sport} {round} with {c1}
  h: {sport} : {c*} follow {c1} into {round}
  t: after {c11} {win} {c2} and {c12} {win} {c3} => {sport} : {c11} {win} {c2} , {c12} {win} {c3}
c talks
  a: {c*} (agreed to hold|will hold|are to hold) {topic} talks in {v1} with (officials|envoys) from {c1}
  a: (ministers|delegates) from {c*} (gathered|met) in {v1} for talks on {topic} with {c1}
  a: {v1} will (host|be the scene of) a meeting on {topic} between {c1} and its neighbors {c*}
  h: {c*} to hold {topic} talks with {c1} / {c1} meets {c*} in {v1} on {topic}
  h: {v1} hosts {c*} for {topic} talks with {c1}
  t: after {c11} {job} {p1} met {c12} {job} {p2} => {c11} {job} meets {c12} {job} on {topic}
  t: after {c11} walked out and {c12} urged {c11} to return => {c11} leaves {topic} talks , {c12} urges {c11} return
c border clash
  a: {c1.adj} and {c2.adj} troops exchanged (artillery|heavy|mortar) fire near {v1} , killing (at least|) {num} people
  a: (at least|some) {num} people died near {v1} when {c1} and {c2} shelled each other across their border
  h: {c1} and {c2} trade fire , {num} (dead|killed) / {num} (die|killed) as {c1} , {c2} clash near {v1}
  t: and {c2} accused {c1} of (starting|provoking) the clash => {c1} , {c2} trade fire as {c2} blames {c1}
  t: as the {force} of {c1} and the {force} of {c2} dug in => {c1} {force} , {c2} {force} clash near {v1}
c trade dispute
  a: {c1} (imposed|announced) (new|punitive|stiff) duties on {goods1} and {goods2} imported from {c*}
  a: imports of {goods1} and {goods2} from {c*} will be taxed by {c1} (from next month|next year|)
  h: {c1} taxes {goods1} from {c*} / {c1} puts duties on {goods1} from {c*} / {c*} face {c1} duties on {goods1}
  t: and {c11} raised its own taxes on {c1.adj} {goods3} => {c1} taxes {c11} {goods1} , {c11} taxes {c1} {goods3}
  t: as {goods1} prices and {goods2} prices fell => {goods1} prices , {goods2} prices fall on {c1} duties
c appeal
  a: {c*} (called on|urged|appealed to) {c1} to (accept|allow|agree to) {want} (before|in time for) a summit in {v1}
  a: {c1} (came under|faced) (growing|fresh) pressure from {c*} to (accept|allow) {want} at a meeting in {v1}
  h: {c*} urge {c1} to accept {want} / {c*} press {c1} on {want} / {c1} (pressed|urged) by {c*} over {want}
  t: but {c1} said there would be no talks , no {want} and no deal => {c1} says no talks , no {want} , no deal
  t: and {c11} said it would answer threat with threat => {c11} answers threat with threat over {c1} {want}
p state visit
  a: {c1.adj} {job} {p1} (arrived in|flew to) {v1} for talks with {p2} and {p3} of {c2} on {topic}
  a: {p2} and {p3} of {c2} (welcomed|received) {c1.adj} {job} {p1} in {v1} to discuss {topic}
  h: {p1} meets {p2} , {p3} on {topic} / {c1.adj} {job} {p1} in {v1} to meet {p2} , {p3}
  h: {p1} , {p2} and {p3} discuss {topic}
  t: and will also see the {job} of {c2} => {c1} {job} meets {c2} {job} in {v1}
p election
  a: {p1} (won|took|captured) the {c1.adj} presidential election with a lead of {pct1} points over {p2} and {p3}
  a: voters in {c1} (chose|elected) {p1} as president , (rejecting|turning down) {p2} and {p3} (by a wide margin|)
  h: {p1} (beats|defeats) {p2} , {p3} in {c1} vote / {c1} elects {p1} over {p2} and {p3}
  h: {p1} wins {c1} presidency from {p2} and {p3}
  t: and {p2} asked for a new vote while {p1} celebrated in {v1} => {p1} wins {c1} vote , {p2} wants new vote
  t: after {p2} said {p1} had cheated => {p1} wins {c1} vote , {p2} accuses {p1}
p individual sport
  a: {p1} of {c1} won the {v1} open {sport} {prize} ahead of {p2} and {p3} of {c2}
  a: {p2} and {p3} were (beaten|defeated) by {c1.adj} champion {p1} in the (race|fight) for the {sport} {prize} in {v1}
  h: {p1} (beats|tops) {p2} , {p3} for {v1} {prize} / {sport} : {p1} wins {prize} from {p2} and {p3}
  h: {c1.adj} {p1} takes {v1} {sport} {prize} from {p2}
  t: as {p2} fell to {p4} and later to {p1} => {sport} : {p1} beats {p2} , {p4} beats {p2}
p court
  a: a court in {v1} (sentenced|jailed) {p1} , {p2} and {p3} (to|for) {num} years for {crime}
  a: {p1} , {p2} and {p3} were (found guilty|convicted) of {crime} by a {v1} court and given {num} years
  h: {p1} , {p2} and {p3} jailed for {crime} / {v1} court jails {p1} , {p2} and {p3}
  h: {num} years for {p1} , {p2} and {p3} in {crime} trial
  t: and a higher court recalled {p4} as a witness => {v1} court jails {p1} , {p2} as court recalls {p4}
  t: after {p1} said that the {v1} police had paid other police => {p1} jailed as {v1} police blame other police
k takeover
  a: {k1} (agreed|offered) to (buy|acquire|take over) {k2} for {num} billion dollars , outbidding {k3} and {k4}
  a: {k2} accepted a bid of {num} billion dollars from {k1} and (turned down|rejected) {k3} and {k4}
  h: {k1} to buy {k2} , outbids {k3} and {k4} / {k2} picks {k1} bid over {k3} and {k4}
  h: {k1} beats {k3} and {k4} to buy {k2}
  t: after {k3} made a bid for {k1} itself => {k1} bids for {k2} as {k3} bids for {k1}
  t: and will sell its stake in {k3} and keep a stake in {k4} => {k1} to sell {k3} stake , keep {k4} stake
k joint venture
  a: {k*} (set up|formed|announced) a (joint|new) {sector} venture in {v1} to (compete|catch up) with {k1}
  a: {k1} will (face|meet) competition in {v1} from a new {sector} venture (of|formed by) {k*}
  h: {k*} form {sector} venture to fight {k1} / {k*} join in {sector} venture in {v1} / {k*} take on {k1} in {v1}
  t: after {k11} sued {k1} and {k1} sued {k11} over patents => {k1} sues {k11} , {k11} sues {k1}
k shares
  a: shares of {k*} (rose|climbed|gained) {pct1} percent in {v1} while {k1} lost {pct2} percent
  a: {k*} led shares (higher|up) in {v1} by {pct1} percent , but {k1} fell {pct2} percent
  h: {k*} (rise|gain) as {k1} falls / {k*} up {pct1} percent while {k1} slips / {v1} shares : {k*} gain , {k1} falls
  t: as {sector1} stocks gained and {sector2} stocks lost ground => {v1} {sector1} stocks rise as {sector2} stocks fall
  t: as {v1} stocks followed {v2} stocks and {v3} stocks lower => {v1} stocks , {v2} stocks , {v3} stocks fall
v strike
  a: {trade1} , {trade2} and {trade3} (went on strike|walked out) in {v*} over (pay|pensions|working hours)
  a: a strike by {trade1} , {trade2} and {trade3} over (pay|pensions) (crippled|brought a halt to) {v*}
  h: {trade1} , {trade2} and {trade3} strike in {v11} / strike by {trade1} hits {v*} / {v*} hit by strike of {trade1}
  t: while other {trade1} in {v5} refused to back the {trade1} of {v6} => {v6} {trade1} strike without {v5} {trade1}
  t: after {c1} refused pay rise after pay rise => {c1} {trade1} strike after pay offer after pay offer
v natural disaster
  a: a (powerful|severe|) {hazard} (struck|hit|swept) {v*} in {c1} , leaving {num} dead and {num2} missing
  a: {num} people (died|were killed) and {num2} were missing after a {hazard} in {c1} (damaged|devastated) {v*}
  h: {hazard} hits {v*} / {c1} {hazard} hits {v*} , {num} dead / {c1} {hazard} kills {num} in {v*}
  t: as fear spread from village to village => fear spreads village to village after {c1} {hazard}
  t: and {c2} sent aid while {c1} appealed for more aid => {c2} sends {hazard} aid as {c1} seeks more aid
v outbreak
  a: {ill} (spread|moved) from {v1} to {v*} and {num} cases were (reported|confirmed) in {c1}
  a: doctors in {c1} (reported|counted) {num} cases of {ill} in {v*} after an outbreak in {v1}
  h: {ill} spreads from {v1} to {v*} / {v*} report {ill} after {v1} outbreak / {c1} {ill} outbreak reaches {v*}
  t: as nurses went from house to house => {c1} nurses go house to house against {ill} in {v1}
  t: day after day in spite of vaccines => {c1} {ill} cases rise day after day in {v1}
v fighting
  a: the {c1.adj} {force1} (seized|captured|took) {v*} after (heavy|fierce) fighting with the {force2} from {v1}
  a: {v*} fell to the {c1.adj} {force1} (after|following) {num} days of battles with the {force2} near {v1}
  h: {c1.adj} {force1} take {v*} from {force2} / {v*} fall to {c1.adj} {force1} / {c1.adj} {force1} seize {v*} near {v1}
  t: where they fought the {force2} from street to street => {c1.adj} {force1} fight {force2} street to street in {v1}
t league
  a: the {v1} {t1} {beat} the {t2} {score} and the {t3} and {t4} also won in the {sport} league
  a: wins for the {t3} and {t4} came (after|hours after) the {v1} {t1} {beat} the {t2} in the {sport} league
  h: {t1} {beat} {t2} , {t3} and {t4} win / {v1} {t1} {beat} {t2} as {t3} , {t4} win
  h: {t1} , {t3} and {t4} win in {sport}
  t: when the {t3} {beat} the {t5} => {t1} {beat} {t2} , {t3} {beat} {t5}
t transfer
  a: the {v1} {t1} (traded|sent) {p1} and {p2} to the {v2} {t2} for {p3} in a deal that (involves|includes) the {t3}
  a: {p3} (will join|moves to) the {v1} {t1} while {p1} and {p2} go to the {v2} {t2} in a trade with the {t3}
  h: {t1} trade {p1} , {p2} to {t2} for {p3} / {t1} get {p3} , send {p1} and {p2} to {t2}
  h: {t2} trade {p3} for {p1} and {p2}
  t: after the {t3} traded {p4} to the {t1} => {t3} trade {p4} to {t1} , {t1} trade {p1}
"""
# What stands beside the lead, by kind; the names in it never belong in the headline.
DISTRACTORS = """
c: (a day|hours|a week) after {c7} and {c8} (held|broke off) talks / despite (objections|protests) from {c7} and {c8}
c: (while|as) {c7} , {c8} and {c9} (looked on|stayed away) / as {c7} (again|) accused {c8} of spying
p: (a day|hours) after {p7} (met|criticized) {p8} / in the (absence|presence) of {p7} and {p8}
p: (while|as) {p7} , {p8} and {p9} (looked on|stayed away) / despite a warning from {c7.adj} {job7} {p7}
k: (a day|a week) after {k7} and {k8} (merged|reported losses) / despite (warnings|complaints) from {k7} and {k8}
k: (while|as) {k7} , {k8} and {k9} (waited|cut prices)
v: (a day|hours) after (alarms|protests) in {v7} and {v8} / although roads to {v7} and {v8} were open
v: (while|as) {v7} , {v8} and {v9} remained (calm|quiet)
t: (a day|hours) after the {t7} and {t8} (lost|tied) / (while|as) the {t7} , {t8} and {t9} rested
"""
SAID = (
    "officials said",
    "(state|local) (radio|television) (said|reported)",
    "{p6} said",
    "{c6} said",
    "the {v6} (times|daily) reported",
)
ORDERS = (
    "{lead} , {side} .",
    "{lead} on {day} , {side} .",
    "on {day} , {lead} , {side} .",
    "{said} that {lead} , {side} .",
)
BARE_ORDERS = ("{said} that {lead} on {day} .", "on {day} , {lead} , {said} .")  # without a distractor
TWIST_SHARE = 0.10  # of all pairs: as in real headlines, a word rightly recurs in about one of ten
LIST_SIZES = (2, 3, 3, 3)  # most lists have three members: enough to lose track of them
REORDER = 0.1  # how often a list is put into an order of its own
DISTRACTED = 0.7  # how often names stand by that do not belong in the headline
SAME_KIND = 0.8  # how often the distractors are of the kind that the headline names

CHOICE = re.compile(r"\(([^()]*)\)")
SLOT = re.compile(r"\{([a-z]+)(\d*)(\*|\.adj|)\}")


def _fields(text):
    """Return {key: [values]} for lines "key: value / value"; deep indents continue a line."""
    fields = {}
    for line in text.strip().replace("\n    ", " ").splitlines():
        key, values = line.split(":", 1)
        fields.setdefault(key.strip(), []).extend(value.strip() for value in values.split(" / "))
    return fields


def _coined(starts, middles, ends, count):
    """Return `count` invented names, the same ones whatever the corpus seed."""
    names = ["".join(parts) for parts in product(starts.split(), middles.split(), ends.split())]
    return random.Random(1).sample(names, count)


def _lexicon():
    """Return {kind: [(article form, headline form, adjective), ...]}, most frequent first."""
    lexicon = {"c": [(name, name, adj) for name, adj in (word.split("/") for word in COUNTRIES.split())]}
    for kind, (words,) in _fields(WORDS).items():
        forms = [word.replace("_", " ").split("/") for word in words.split()]
        lexicon[kind] = [(form[0], form[-1], form[0]) for form in forms]
    surnames = _coined(
        "bar bres cal dol dren far fen gol har hol jas jur kel kos lom lun mar mol nor pel pras "
        "quin ras ros sor stan tal tav ul var ver wen yar zan zim",
        "a e i o u",
        "ton sky mann lini dez rov berg kova shi sen las ridge field vic",
        560,
    )
    firsts = FIRST_NAMES.split()  # a person keeps one first name, as in the news
    lexicon["p"] = [(f"{firsts[i % len(firsts)]} {name}", name, name) for i, name in enumerate(surnames)]
    companies = _coined(
        "alt ast bren car cor dyn eur fal gal glo hex ind jun kry lum mag nov orb pran quar sol syn tri ult vex zen",
        "a e i o",
        "tek corp soft bank gen line chem star works",
        340,
    )
    for kind, words in (("v", CITIES.split()), ("t", CLUBS.split()), ("k", companies)):
        lexicon[kind] = [(word, word, word) for word in words]
    return lexicon


LEXICON = _lexicon()
# Names thin out with their rank as in the news, so that a model has favourites to fall back on.
WEIGHTS = {kind: [1 / (rank + 100) for rank in range(len(words))] for kind, words in LEXICON.items()}
# GRAMMAR: [(main kind of entity, {"a": articles, "h": headlines, "t": twists}), ...]
GRAMMAR = [(block[0], _fields(block.split("\n", 1)[1])) for block in re.split(r"\n(?=\S)", EVENTS.strip())]
SIDES = _fields(DISTRACTORS)


class Story:
    """The facts of one pair: which entity fills which slot, in article and headline alike."""

    def __init__(self, rng):
        self.rng = rng
        self.facts = {}
        self.list_size = rng.choice(LIST_SIZES)

    def fact(self, kind, number):
        """Return the forms of slot `number` of `kind`, drawn at its first use."""
        if (kind, number) not in self.facts:
            taken = {forms for (other, _), forms in self.facts.items() if other == kind}
            while (forms := self.rng.choices(LEXICON[kind], WEIGHTS[kind])[0]) in taken:
                pass
            self.facts[kind, number] = forms
        return self.facts[kind, number]

    def write(self, template, headline=False):
        """Expand the alternatives and slots of `template`; return its tokens as a string."""
        while CHOICE.search(template):
            template = CHOICE.sub(lambda match: self.rng.choice(match[1].split("|")), template)

        def fill(match):
            kind, number, how = match.groups()
            if how == "*":  # the members are slots 11, 12 and perhaps 13
                members = [self.fact(kind, str(11 + i))[headline] for i in range(self.list_size)]
                if self.rng.random() < REORDER:
                    self.rng.shuffle(members)
                return " , ".join(members[:-1]) + " and " + members[-1]
            return self.fact(kind, number)[2 if how == ".adj" else headline]

        return " ".join(SLOT.sub(fill, template).split())


def make_pair(rng):
    """Return (article, headline, key); the key says which event happened to whom."""
    while True:
        story = Story(rng)
        event, (kind, rules) = rng.choice(list(enumerate(GRAMMAR)))
        twist = rng.random() < TWIST_SHARE
        if twist:
            side, headline = rng.choice(rules["t"]).split(" => ")
        else:
            side_kind = kind if rng.random() < SAME_KIND else rng.choice(sorted(SIDES))
            side, headline = rng.choice(SIDES[side_kind]), rng.choice(rules["h"])
        orders = ORDERS if twist or rng.random() < DISTRACTED else BARE_ORDERS
        order = rng.choice(orders).replace("{said}", rng.choice(SAID))
        article = story.write(order.replace("{lead}", rng.choice(rules["a"])).replace("{side}", side))
        title = story.write(headline, headline=True)
        words = title.split()
        # Without a twist a word recurs only by accident (two "workers"): draw again.
        if twist or len(set(words)) == len(words):
            names = {forms[1] for (kind, _), forms in story.facts.items() if kind in SIDES}
            return article, title, (event, frozenset(names.intersection(words)))


def make_corpus(seed, sizes):
    """Return {split: [(article, headline), ...]} for `sizes`, {split: number of pairs}.

    Validation and test pairs consist of words that the training articles and headlines
    hold, but no event happens to the same names as in an earlier split.
    """
    rng = random.Random(seed)
    corpus, seen, known = {}, set(), (set(), set())
    for split in SPLITS:
        pairs, keys, misses = [], set(), 0
        while len(pairs) < sizes[split]:
            *pair, key = make_pair(rng)
            if split == "train":
                for vocabulary, text in zip(known, pair):
                    vocabulary.update(text.split())
            elif key in seen or not all(v.issuperset(text.split()) for v, text in zip(known, pair)):
                misses += 1
                if misses > 2000 * (len(pairs) + 1):
                    raise ValueError(f"--train {sizes['train']} is too small: too few words for the {split} set")
                continue
            keys.add(key)
            pairs.append(tuple(pair))
        seen |= keys
        corpus[split] = pairs
    return corpus


def write_corpus(corpus, out):
    """Write {split}.article and {split}.title into `out`, each complete or not at all."""
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for split, pairs in corpus.items():
        for column, suffix in enumerate(("article", "title")):
            target = out / f"{split}.{suffix}"
            temporary = out / f".{target.name}.{os.getpid()}.tmp"
            try:
                temporary.write_text("".join(pair[column] + "\n" for pair in pairs), encoding="utf-8")
                os.replace(temporary, target)
            finally:
                temporary.unlink(missing_ok=True)


def _size(text):
    """Parse a number of pairs for argparse."""
    if not re.fullmatch("[0-9]{1,7}", text) or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of pairs from 1 to 9999999")
    return int(text)


def main(argv=None):
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(description="Write the demo's synthetic news corpus.")
    parser.add_argument("--out", required=True, metavar="DIR", help="directory for {train,valid,test}.{article,title}")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="same seed, same corpus (default %(default)s)")
    for split, default in zip(SPLITS, (16000, 1000, 1000)):
        parser.add_argument(
            f"--{split}",
            type=_size,
            default=default,
            metavar="N",
            help=f"number of {split} pairs (default %(default)s)",
        )
    args = parser.parse_args(argv)
    try:
        write_corpus(make_corpus(args.seed, {split: getattr(args, split) for split in SPLITS}), args.out)
    except (ValueError, OSError) as error:
        print(f"{parser.prog}: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
