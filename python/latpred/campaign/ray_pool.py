"""Workers as actors of a Ray cluster: the same campaign where one machine is too few."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from latpred.campaign.pool import LOST, Event
from latpred.campaign.worker import Measurer, refusal
from latpred.optional import need


class RayPool:
    """An actor for each worker, wherever the cluster has the cores. Every one says which machine it is on."""

    def __init__(self, settings: Mapping[str, Any], threads: int, address: str) -> None:
        """address: as ray.init takes it: "auto", "local" for one that is started here, or a head's address."""
        self._ray = need("ray", "ray", "a campaign on a cluster")
        self._is_ours = not self._ray.is_initialized()
        if self._is_ours:
            self._ray.init(address=address, log_to_driver=False, configure_logging=False)
        self._settings = settings
        # No restarts by Ray: the campaign must know that a worker has gone, and asks for another itself.
        self._actor_class = self._ray.remote(num_cpus=threads, max_restarts=0, max_concurrency=1)(_Actor)
        self._actors: dict[str, Any] = {}
        self._answers: dict[str, deque[Any]] = {}  # in the order of the requests

    def start(self, worker: str) -> None:
        actor = self._actor_class.remote(self._settings)
        self._actors[worker] = actor
        self._answers[worker] = deque([actor.start.remote()])

    def send(self, worker: str, request: Mapping[str, Any]) -> None:
        if worker in self._actors:
            self._answers[worker].append(self._actors[worker].answer.remote(dict(request)))

    def wait(self, timeout_s: float) -> list[Event]:
        first = {answers[0]: worker for worker, answers in self._answers.items() if answers}
        if not first:
            return []
        done, _ = self._ray.wait(list(first), num_returns=1, timeout=timeout_s)
        events = []
        for answer in done:
            worker = first[answer]
            try:
                replies = self._ray.get(answer)
            except self._ray.exceptions.RayActorError as error:
                del self._actors[worker], self._answers[worker]
                events.append(Event(worker, LOST, {"reason": str(error).splitlines()[0]}))
            else:
                self._answers[worker].popleft()
                events += [Event(worker, reply.pop("kind"), reply) for reply in replies]
        return events

    def end(self, worker: str) -> None:
        if worker in self._actors:
            self._ray.kill(self._actors[worker])

    def close(self) -> None:
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors.clear()
        self._answers.clear()
        if self._is_ours:
            self._ray.shutdown()


class _Actor:
    """A Measurer behind Ray's calls."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._measurer: Measurer | None = None
        self._refusal: list[dict[str, Any]] = []
        try:
            self._measurer = Measurer(settings, None)
        except Exception as error:  # noqa: BLE001 - what a worker cannot do is an answer, not a lost actor
            self._refusal = refusal(error)

    def start(self) -> list[dict[str, Any]]:
        return self._refusal if self._measurer is None else self._measurer.start()

    def answer(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        assert self._measurer is not None
        return self._measurer.answer(request)
