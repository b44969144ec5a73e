"""AutoML for knowledge graphs: search, train and use recurrent networks over relational paths."""
