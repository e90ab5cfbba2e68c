"""The v0 controls that lead from one pipeline to another.

v0 changes one stage at a time and packets flow meanwhile, so the order is such that no stage ever
sends to, or looks at, a queue that is not there: queues come before the rules that use them and go
after them. Each pipeline on the way is one a node can run.
"""

from __future__ import annotations

from collections.abc import Iterable

from flexric_bridge.tc import v0
from flexric_bridge.tc.v0 import EVERYTHING, Filter, Message, Osi, Spread, State


def kept_run(state: State) -> int:
    """How many queues from the lowest on have consecutive ids: those a plan can build on."""
    number = state.base
    while number in state.queues:
        number += 1
    return number - state.base


def plan(current: State, target: State) -> list[Message]:
    """Controls that make `current` the `target`, whose queues shall be numbered without gaps from
    `current.base` on. Empty when nothing is to be done."""
    steps = _Steps(current)
    # An added queue gets the id after the highest: what is beyond a gap goes first.
    first = current.base
    beyond = {number for number in current.queues if number >= first + kept_run(current)}
    if beyond:
        steps.park()
        steps.retire(beyond)
    steps.add_queues(target)
    doomed = set(steps.state.queues) - set(target.queues)
    steps.change_queues(target)
    if steps.state.priority != target.priority:
        steps.take(v0.scheduler(target.priority))
    if isinstance(target.classifier, Osi):
        steps.rewrite([rule for _, rule in target.classifier.filters])
    elif doomed:
        # RR and STO spread over all queues there are, so they wait until the rest is gone.
        steps.park()
    steps.retire(doomed)
    if isinstance(target.classifier, Spread):
        wanted = Spread(target.classifier.kind, frozenset(target.queues))
        if steps.state.classifier != wanted:
            steps.take(v0.spread(target.classifier.kind))
    if steps.state.paced != target.paced:
        steps.take(v0.pacer(target.paced))
    return steps.messages


class _Steps:
    """Controls so far and the pipeline after them."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.messages: list[Message] = []

    def take(self, message: Message) -> None:
        self.state = v0.apply(self.state, message)
        self.messages.append(message)

    def add_queues(self, target: State) -> None:
        for number in sorted(target.queues.keys() - self.state.queues.keys()):
            self.take(v0.queue_add(target.queues[number]))

    def change_queues(self, target: State) -> None:
        for number, queue in sorted(target.queues.items()):
            if self.state.queues[number].discipline != queue.discipline:
                self.take(v0.queue_modify(number, queue))
            if self.state.queues[number].policer != queue.policer:
                self.take(v0.policer(number, queue.policer))
            if self.state.queues[number].shaper != queue.shaper:
                self.take(v0.shaper(number, queue.shaper))

    def park(self) -> None:
        """Send everything to the lowest queue, so that the others can go."""
        self.rewrite([Filter(*EVERYTHING, self.state.base)])

    def rewrite(self, rules: list[Filter]) -> None:
        """Make the filters these, changing those in place that differ."""
        old = self.state.classifier.filters if isinstance(self.state.classifier, Osi) else ()
        for (number, rule), new in zip(old, rules, strict=False):
            if rule != new:
                self.take(v0.filter_modify(number, new))
        for new in rules[len(old) :]:
            self.take(v0.filter_add(new))
        for number, _ in reversed(old[len(rules) :]):
            self.take(v0.filter_delete(number))

    def retire(self, doomed: Iterable[int]) -> None:
        """Delete queues that no filter points to any more, after whatever else looks at them."""
        gone = set(doomed)
        if not gone:
            return
        if self.state.priority is not None and gone.intersection(self.state.priority):
            kept = tuple(number for number in self.state.priority if number not in gone)
            self.take(v0.scheduler(kept or None))
        for number, queue in sorted(self.state.queues.items()):
            if queue.policer is not None and queue.policer.deviate_to in gone:
                self.take(v0.policer(number, None))
        for number in sorted(gone, reverse=True):
            self.take(v0.queue_delete(number, self.state.queues[number]))
