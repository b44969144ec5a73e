"""How a network is trained: what can be set, what was published, the loop, and what is kept.

In: a network, paths and settings. Out: trained tensors, and checkpoints that survive a crash. Knows
nothing of tasks, searches or the command line.

`settings` says what can be set, `presets` what was published, `loop` and `step` train,
`checkpoints` keeps what resuming needs.
"""
