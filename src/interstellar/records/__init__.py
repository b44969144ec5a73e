"""What is written to disk: files and folders that appear whole or not at all.

In: bytes, text, values. Out: files. Knows nothing of what they mean.
"""
