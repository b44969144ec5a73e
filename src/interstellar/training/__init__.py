"""How a network is trained: what can be set, what was published, the loop, and what is kept.

In: a network, paths and settings, or a file that says them. Out: trained tensors, checkpoints that
survive a crash, experiments as frozen values. Knows nothing of tasks, searches or the command line.

`settings` says what can be set, `presets` what was published, `experiment` reads and writes both
as TOML, `loop` and `step` train, `checkpoints` keeps what resuming needs.
"""
