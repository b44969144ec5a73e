import asyncio
import shutil
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import interstellar
from interstellar.dashboard import answering, open_models
from interstellar.dashboard.open_models import OpenModels
from interstellar.dashboard.questions import LinkQuestion, Links, Question, Way
from interstellar.errors import BusyError, InterstellarError, SettingsError
from tests.imported_modules import list_imported


class Echo:
    """A model that answers with what it was asked, and takes its time."""

    way = Way.PREDICT

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.passes: list[int] = []
        self.threads: set[int] = set()

    def answer(self, questions: Sequence[Question]) -> list[Links | InterstellarError]:
        time.sleep(self.seconds)
        self.passes.append(len(questions))
        self.threads.add(threading.get_ident())
        found: list[Links | InterstellarError] = []
        for question in questions:
            assert isinstance(question, LinkQuestion)
            if question.relation == "bad":
                found.append(SettingsError(f"bad {question.subject}"))
            else:
                found.append(Links(query=question, answers=(), temperature=None))
        return found


def ask(subject: object, relation: str = "r") -> LinkQuestion:
    return LinkQuestion(subject=str(subject), relation=relation)


def opening(monkeypatch: pytest.MonkeyPatch, **models: Echo) -> list[str]:
    """Open these models by the names of their folders; return which were opened."""
    opened: list[str] = []

    def open_model(folder: Path, device: str) -> Echo:
        opened.append(folder.name)
        return models[folder.name]

    monkeypatch.setattr(answering, "open_model", open_model)
    return opened


def test_a_hundred_who_ask_at_once_get_their_own_answers_in_few_passes(
    linked: Path, tmp_path: Path
) -> None:
    own = interstellar.open(shutil.copytree(linked, tmp_path / "copy"), device="cpu")
    graph = own.graph
    assert isinstance(graph, interstellar.KnowledgeGraph)
    entities, relation = graph.entities.to_list(), graph.relations.name(0)
    questions = [
        LinkQuestion(subject=entities[i % len(entities)], relation=relation, k=1 + i % 7)
        for i in range(100)
    ]

    async def ask_all() -> list[Links]:
        models = OpenModels("cpu")
        found = await asyncio.gather(*(models.ask(linked, question) for question in questions))
        models.close()
        return [answers for answers in found if isinstance(answers, Links)]

    for question, answers in zip(questions, asyncio.run(ask_all()), strict=True):
        assert question.subject is not None
        expected = own.predict(subject=question.subject, relation=relation, k=question.k)
        assert answers.query == question
        assert [each.entity for each in answers.answers] == [each.entity for each in expected]


def test_what_waits_during_a_pass_is_answered_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    echo = Echo(0.1)
    opened = opening(monkeypatch, a=echo)

    async def ask_all() -> list[str | None]:
        models = OpenModels("cpu")
        first = asyncio.create_task(models.ask(tmp_path / "a", ask("first")))
        await asyncio.sleep(0.05)
        rest = await asyncio.gather(*(models.ask(tmp_path / "a", ask(i)) for i in range(50)))
        await first
        models.close()
        return [answers.query.subject for answers in rest if isinstance(answers, Links)]

    assert asyncio.run(ask_all()) == [str(i) for i in range(50)]
    assert echo.passes == [1, 50]
    assert len(echo.threads) == 1
    assert opened == ["a"]


def test_a_bad_question_among_good_ones_is_refused_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening(monkeypatch, a=Echo())

    async def ask_all() -> list[object]:
        models = OpenModels("cpu")
        asked = [ask(1), ask(2, "bad"), ask(3)]
        found = await asyncio.gather(
            *(models.ask(tmp_path / "a", one) for one in asked), return_exceptions=True
        )
        models.close()
        return list(found)

    first, second, third = asyncio.run(ask_all())

    assert isinstance(first, Links)
    assert str(second) == "bad 2"
    assert isinstance(third, Links)


def test_who_leaves_disturbs_nobody_who_waits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening(monkeypatch, a=Echo(0.05))

    async def ask_all() -> object:
        models = OpenModels("cpu")
        first = asyncio.create_task(models.ask(tmp_path / "a", ask("first")))
        second = asyncio.create_task(models.ask(tmp_path / "a", ask("second")))
        await asyncio.sleep(0.01)
        first.cancel()
        answered = await second
        again = await models.ask(tmp_path / "a", ask("third"))
        models.close()
        return answered, again

    assert all(isinstance(one, Links) for one in asyncio.run(ask_all()))  # type: ignore[attr-defined]


def test_a_run_that_cannot_be_opened_is_the_answer_of_all_and_may_be_asked_again(
    linked: Path, tmp_path: Path
) -> None:
    async def ask_twice() -> list[BaseException | Links]:
        models = OpenModels("cpu")
        asked = [models.ask(tmp_path / "none", ask(i)) for i in range(3)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        with pytest.raises(SettingsError):
            await models.ask(tmp_path / "none", ask(4))
        models.close()
        return list(found)  # type: ignore[arg-type]

    assert all(isinstance(error, SettingsError) for error in asyncio.run(ask_twice()))


def test_only_a_few_models_stay_open_the_last_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opening(monkeypatch, a=Echo(), b=Echo(), c=Echo())
    monkeypatch.setattr(open_models, "MOST_OPEN", 2)

    async def ask_all() -> None:
        models = OpenModels("cpu")
        for name in "abacab":
            await models.ask(tmp_path / name, ask(name))
        models.close()

    asyncio.run(ask_all())

    assert opened == ["a", "b", "c", "b"]


def test_a_run_with_a_new_result_is_opened_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opening(monkeypatch, a=Echo())
    (tmp_path / "a").mkdir()

    async def ask_twice() -> None:
        models = OpenModels("cpu")
        await models.ask(tmp_path / "a", ask(1))
        (tmp_path / "a" / "result.json").write_text("{}")
        await models.ask(tmp_path / "a", ask(2))
        models.close()

    asyncio.run(ask_twice())

    assert opened == ["a", "a"]


def test_more_than_can_wait_are_told_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening(monkeypatch, a=Echo(0.05))
    monkeypatch.setattr(open_models, "MOST_WAITING", 2)

    async def ask_all() -> list[object]:
        models = OpenModels("cpu")
        asked = [models.ask(tmp_path / "a", ask(i)) for i in range(3)]
        found = await asyncio.gather(*asked, return_exceptions=True)
        again = await models.ask(tmp_path / "a", ask("again"))
        models.close()
        return [*found, again]

    first, second, third, again = asyncio.run(ask_all())

    assert isinstance(third, BusyError)
    assert [isinstance(one, Links) for one in (first, second, again)] == [True] * 3


def test_torch_is_imported_once_a_model_is_asked_and_not_before() -> None:
    code = "from interstellar.dashboard import sites, listening"

    assert list_imported(code, "torch", "interstellar.dashboard.sites") == [
        "interstellar.dashboard.sites"
    ]
