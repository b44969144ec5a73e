"""The dashboard: runs in a browser while they are under way, and models that answer over HTTP.

In: a folder of runs, or one trained run. Out: a small web server that only reads. It follows the
journals of runs by what is added to them, and holds no more of each than a page shows; it takes no
lock, writes nothing, and reads nothing outside the folder. torch is imported once a model is asked.
"""
