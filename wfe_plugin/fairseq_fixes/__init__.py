"""Everything that the plugin changes in fairseq and torch, one file each.

| file | what changes | scope |
|---|---|---|
| safe_loading | torch's safe unpickler accepts what fairseq's checkpoints hold | every `torch.load` |
| checkpoint_options | a checkpoint whose options hold code is refused | `checkpoint_utils.load_checkpoint_to_cpu` |
| safe_saving | a checkpoint is written as a whole or not at all | `torch_persistent_save`, `PathManager.copy` |
| error_line | a UserError is shown as one line | `sys.excepthook` of fairseq's own programs |

:func:`wfe_plugin.register` applies them, and nothing else does.
"""


def apply() -> None:
    from wfe_plugin.fairseq_fixes import checkpoint_options, error_line, safe_loading, safe_saving

    safe_loading.allow_fairseq_checkpoints()
    checkpoint_options.refuse_code_in_checkpoints()
    safe_saving.write_whole_checkpoints()
    error_line.show_user_errors()
