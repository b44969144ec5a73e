"""The published sets of the paper, file by file.

Sizes and checksums are of finished files: line ends are LF, and `ref_ent_ids` is without
the training pairs. They were computed from the copies that this project measures on.
"""

from collections.abc import Iterable

from interstellar.data.named_set import NamedSet, SetFile, Task

_KGE = "DeepGraphLearning/KnowledgeGraphEmbedding"
_KGE_COMMIT = "2e440e0f9c687314d5ff67ead68ce985dc446e3a"
_CEA = "DexterZeng/CEA"
_CEA_COMMIT = "59840b21c10696a2c86bb485dbbdb81bf08a6851"

_Row = tuple[str, int, str]
"""Name, size in bytes, checksum."""

_WN18RR = (
    ("train.txt", 3_135_377, "038612e783c215ee5f3ca9fbfca27b8d0739be1028fe4ee7c174aecf0b83d5df"),
    ("valid.txt", 110_415, "453ce7202afa58094a04d2b1560ee2b02660f1c260b32ce6651c8ccedd1028ab"),
    ("test.txt", 113_180, "0383bceaaa1096cf3c03ec021ed0048068e2355dbfc0239b292cefdac821cec5"),
)
_FB15K_237 = (
    ("train.txt", 21_005_177, "61099230e4439f90885ca9767739e31e8e32f54736fa1c35952b27997bc7c08a"),
    ("valid.txt", 1_285_566, "749cbe9d923bac7b9354da5614ecfed2e0220256d442c3e04a6b303db1f273d9"),
    ("test.txt", 1_499_033, "e2e35e8e6113de220140b6f44dc71a5207b0fc6872d575e874aefe13259b655b"),
)
_YAGO3_10 = (
    # Only the MD5 is known, and the size is a guess from the other two splits.
    ("train.txt", 51_000_000, "a9da8f583ec3920570eeccf07199229a"),
    ("valid.txt", 236_350, "c9018b77ec77e99f8d48bc3258d404f10b2049a6c7b4ac6eb663697e799dc6f5"),
    ("test.txt", 238_041, "003887ca8a34c90fcaf9b0250b1c30a4b5f617f80f8cf0aeab9723333061598a"),
)
_COUNTRIES_S1 = (
    ("train.txt", 31_885, "5256bf3fc4181d7e87d819571e3acfa5425fc5af365b9ebe5c113740534ca561"),
    ("valid.txt", 624, "f4b27648148a44f87e627140ec3a02ca4c884c32d348591147ca72f1d6fff5b0"),
    ("test.txt", 610, "262ca5ae5ed3aa1927026e0f258cc52b10830185b93465b93b9360727e719158"),
    ("regions.txt", 36, "00e3e2495731f89bb8ad1e9d227c3955c7cc34bcb541f2b804a920f01e9d7bd9"),
)
_COUNTRIES_S2 = (
    ("train.txt", 30_266, "84c8f310fa076f902760f0909716b13bc0853a105ab9e0145e4e5135d855f68a"),
    ("valid.txt", 624, "f4b27648148a44f87e627140ec3a02ca4c884c32d348591147ca72f1d6fff5b0"),
    ("test.txt", 610, "262ca5ae5ed3aa1927026e0f258cc52b10830185b93465b93b9360727e719158"),
    ("regions.txt", 36, "00e3e2495731f89bb8ad1e9d227c3955c7cc34bcb541f2b804a920f01e9d7bd9"),
)
_COUNTRIES_S3 = (
    ("train.txt", 28_238, "80a8e3a26aff58b78fd5a453ec2a37591466bad621df8d05185f26763b663a0c"),
    ("valid.txt", 624, "f4b27648148a44f87e627140ec3a02ca4c884c32d348591147ca72f1d6fff5b0"),
    ("test.txt", 610, "262ca5ae5ed3aa1927026e0f258cc52b10830185b93465b93b9360727e719158"),
    ("regions.txt", 36, "00e3e2495731f89bb8ad1e9d227c3955c7cc34bcb541f2b804a920f01e9d7bd9"),
)
_DBP_WD = (
    ("ent_ids_1", 764_783, "7aed172d0fe5ec957e7866be087aea66aa181612e8acc1ebc7df9a922d0d0e37"),
    ("ent_ids_2", 680_310, "224e839d8c322391bd02d825d5431c0deda8e3b8efc5abd9a3022d3ec7f20c67"),
    ("rel_ids_1", 10_898, "85b6941c952c1a5c5d976a84820c6751d2774516c959b938308c40b6522e4470"),
    ("rel_ids_2", 5_753, "470f943aaf1737e1f4a1bede6d43cf395a22818ed59cac50d95b67a4f5973463"),
    ("triples_1", 539_719, "197e06d420e7cc3c372f4e9630fa6366ea16da39616220dc554c7228769196d7"),
    ("triples_2", 642_544, "f1170ebbfcf472a00f9dcea9112f646a1a3633df3d7a7ae07c6c39d5a80c28d2"),
    ("sup_ent_ids", 54_000, "39320e8328d9b49c5c287bdf8ede17fef8a5c86a696b561ee77de7f74a64cabb"),
    ("ref_ent_ids", 114_890, "35144a8e36ce306e2fb78489d85d82cfd3c98b0a17f1eff8819f8c672f780300"),
)
_DBP_YG = (
    ("ent_ids_1", 766_881, "5e8e66471117e3c4b11069c178dcab2c686069e6cec3a82d4a855a809fb239f8"),
    ("ent_ids_2", 357_991, "88f8a94a2957efb3c16ee2882126c1e7fbf6046f1afd015f4008b90a03878bee"),
    ("rel_ids_1", 9_642, "dde76d96a1094952d18875d506c2d19ae40e6a75741a757d312f65ca377d5acc"),
    ("rel_ids_2", 454, "e7deedc4fa984a48e9550431e4ece284659782be87b6b2225ad3c92558101b8a"),
    ("triples_1", 466_785, "7bf06f3bb6849d8495771fd95e5c8ca6f87824d2468585b194d7852f8e7d1df9"),
    ("triples_2", 585_104, "a1fe81a33e9dc49cec769b301b8665052d337bf6a84ce9eebb10f38e2e164821"),
    ("sup_ent_ids", 54_000, "03f756d3e2b01cf994c56e561d093a567d563b955e4381a2e5f6cbb0bf589d17"),
    ("ref_ent_ids", 114_890, "35144a8e36ce306e2fb78489d85d82cfd3c98b0a17f1eff8819f8c672f780300"),
)
_EN_FR = (
    ("ent_ids_1", 750_137, "831617116aafb7f316d2af8b883345f0fe3575c4af758fe668c08246d3f3ead9"),
    ("ent_ids_2", 807_274, "aab65be9f31629ef3790d8a7548814332ebd4f425c85d277c05b6e75ec498848"),
    ("rel_ids_1", 9_598, "894eff5252673dbbe9d3f8449cc1b5da1482062a6272b1360caff73007504dce"),
    ("rel_ids_2", 7_620, "e9054603a0eab3494963a8b92658a5243a3f87ddcd9a3f58ae671e2c14693ed8"),
    ("triples_1", 517_626, "0c24d6f40f04e111d829aa84d5a2aff31d203ee4d1d76f8e50c55c5ae44c7351"),
    ("triples_2", 536_512, "74d339ce54133bbacfbb2fe9fd9b43ddc857fec8c48b34bf9d3c1cd9f856ca56"),
    ("sup_ent_ids", 54_000, "2a1d218a82f18f58f10f341ad8513fa9da3c57aad7b12935bfb911dee8aa19ea"),
    ("ref_ent_ids", 114_890, "35144a8e36ce306e2fb78489d85d82cfd3c98b0a17f1eff8819f8c672f780300"),
)
_EN_DE = (
    ("ent_ids_1", 760_995, "8256172fdec13c5ef002ba012aa88e5b411820f609e29bfa6f9efdf879056cf5"),
    ("ent_ids_2", 817_421, "3ad3364c234e855c88a0e21c45550acc54e41faca51331604fcdfeda78f7b9e8"),
    ("rel_ids_1", 9_515, "117f774318f10ba09f04ddd17692fa3d55cc972e06d0155dcbefcd2410a60b79"),
    ("rel_ids_2", 5_163, "8c19ace1fcefb562508805b74869fe2570573e6d27b86312f91d12d3ce32466a"),
    ("triples_1", 551_077, "e33bcdf778c30b4edb5ffe8f038ac5ea4c8fd1dff426122e5d7de7c61eea22b9"),
    ("triples_2", 598_032, "68c33696204499482f9431a2162dfed217ba8181e68541b5f84ab427539d3009"),
    ("sup_ent_ids", 54_000, "1030370d926226a065a14ae3cd92dd8014f0b741cb883bf52bd116650c4a076f"),
    ("ref_ent_ids", 114_890, "35144a8e36ce306e2fb78489d85d82cfd3c98b0a17f1eff8819f8c672f780300"),
)


def _link_prediction_set(
    name: str, description: str, source: str, rows: Iterable[_Row], counts: tuple[int, ...]
) -> NamedSet:
    keys = ("entities", "relations", "train", "valid", "test")
    return NamedSet(
        name=name,
        task=Task.LINK_PREDICTION,
        folder=name.replace("-", "/")
        if name.startswith("countries")
        else f"link-prediction/{name}",
        description=description,
        source=f"github.com/{_KGE}, {source}",
        licence="MIT (repository); nothing is stated for the data",
        files=tuple(_kge_file(source, row) for row in rows),
        counts=dict(zip(keys, counts, strict=True)),
    )


def _kge_file(source: str, row: _Row) -> SetFile:
    name, n_bytes, digest = row
    remote_name = "regions.list" if name == "regions.txt" else name
    path = f"{_KGE}/{_KGE_COMMIT}/{source}/{remote_name}"
    return SetFile(name=name, path=path, digest=digest, n_bytes=n_bytes)


def _alignment_set(
    name: str, description: str, source: str, rows: Iterable[_Row], counts: tuple[int, ...]
) -> NamedSet:
    return NamedSet(
        name=name,
        task=Task.ENTITY_ALIGNMENT,
        folder=f"entity-alignment/{name}-normal",
        description=description,
        source=f"github.com/{_CEA}, {source}, which took it from github.com/nju-websoft/RSN",
        licence="none stated at the source; MIT at RSN",
        files=tuple(_cea_file(source, row) for row in rows),
        counts=_alignment_counts(counts),
    )


def _cea_file(source: str, row: _Row) -> SetFile:
    name, n_bytes, digest = row
    return SetFile(
        name=name,
        path=f"{_CEA}/{_CEA_COMMIT}/{source}/{name}",
        digest=digest,
        n_bytes=n_bytes,
        # There the file holds all 15,000 pairs: those of sup_ent_ids come after the others.
        without="sup_ent_ids" if name == "ref_ent_ids" else None,
    )


def _dense_set(name: str, description: str, counts: tuple[int, ...]) -> NamedSet:
    return NamedSet(
        name=f"{name}-dense",
        task=Task.ENTITY_ALIGNMENT,
        folder=f"entity-alignment/{name}-dense",
        description=f"{description}, the dense version",
        source="github.com/nju-websoft/RSN (mapping/0_3 of the V2 sets)",
        licence="MIT at RSN",
        files=tuple(SetFile(name=file_name) for file_name, _, _ in _DBP_WD),
        counts=_alignment_counts(counts),
    )


def _alignment_counts(counts: tuple[int, ...]) -> dict[str, int]:
    keys = ("relations_1", "relations_2", "triplets_1", "triplets_2")
    every_set = {"entities_1": 15_000, "entities_2": 15_000}
    pairs = {"seeds": 4_500, "valid": 1_050, "test": 9_450}
    return every_set | dict(zip(keys, counts, strict=True)) | pairs


_COUNTRIES = "Countries: where is a country? By {} hops"
_DBP_WD_TEXT = "DBpedia and Wikidata, both English"
_DBP_YG_TEXT = "DBpedia and YAGO3, both English"
_EN_FR_TEXT = "DBpedia, English and French"
_EN_DE_TEXT = "DBpedia, English and German"

NAMED_SETS = (
    _link_prediction_set(
        "WN18RR",
        "WordNet without inverse relations",
        "data/wn18rr",
        _WN18RR,
        (40_943, 11, 86_835, 3_034, 3_134),
    ),
    _link_prediction_set(
        "FB15k-237",
        "Freebase without inverse relations",
        "data/FB15k-237",
        _FB15K_237,
        (14_541, 237, 272_115, 17_535, 20_466),
    ),
    _link_prediction_set(
        "YAGO3-10",
        "YAGO3, entities with ten relations at least",
        "data/YAGO3-10",
        _YAGO3_10,
        (123_182, 37, 1_079_040, 5_000, 5_000),
    ),
    _link_prediction_set(
        "countries-S1",
        _COUNTRIES.format("one or two"),
        "data/countries_S1",
        _COUNTRIES_S1,
        (271, 2, 1_111, 24, 24),
    ),
    _link_prediction_set(
        "countries-S2",
        _COUNTRIES.format("two"),
        "data/countries_S2",
        _COUNTRIES_S2,
        (271, 2, 1_063, 24, 24),
    ),
    _link_prediction_set(
        "countries-S3",
        _COUNTRIES.format("three"),
        "data/countries_S3",
        _COUNTRIES_S3,
        (271, 2, 985, 24, 24),
    ),
    _alignment_set(
        "DBP-WD", _DBP_WD_TEXT, "data/dbp_wd_15k_V1", _DBP_WD, (253, 144, 38_421, 40_159)
    ),
    _alignment_set(
        "DBP-YG", _DBP_YG_TEXT, "data/dbp_yg_15k_V1", _DBP_YG, (223, 30, 33_748, 36_569)
    ),
    _alignment_set("EN-FR", _EN_FR_TEXT, "data/en_fr_15k_V1", _EN_FR, (221, 177, 36_508, 33_532)),
    _alignment_set("EN-DE", _EN_DE_TEXT, "data/en_de_15k_V1", _EN_DE, (222, 120, 38_363, 37_377)),
    _dense_set("DBP-WD", _DBP_WD_TEXT, (220, 135, 68_598, 75_465)),
    _dense_set("DBP-YG", _DBP_YG_TEXT, (206, 30, 71_257, 97_131)),
    _dense_set("EN-FR", _EN_FR_TEXT, (217, 174, 71_929, 66_760)),
    _dense_set("EN-DE", _EN_DE_TEXT, (207, 117, 56_983, 59_848)),
)
