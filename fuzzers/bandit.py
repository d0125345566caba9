"""LinUCB with a model that all arms share and one of each arm's own, as the FlowMuT paper has it.

    score(x, c) = theta_s.x + theta_c.x + alpha (sqrt(x' A_s^-1 x) + sqrt(x' A_c^-1 x))

theta = A^-1 b; after reward r for x in arm c, both models take A += x x' and b += r x. A starts as the
identity, b as zero, alpha is 1. (Li et al., "A contextual-bandit approach to personalized news article
recommendation", 2010, is where the confidence bound comes from.)

Invariant: a model is plain numbers, its JSON form has all of them, and scoring changes nothing; so a worker
can score with what the controller has learned.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

ALPHA = 1.0
"""How much what is not known counts against what is; the published value."""

Floats: TypeAlias = npt.NDArray[np.float64]


@dataclass
class Linear:
    """One ridge regression: A (d by d) and b (d)."""

    a: Floats
    b: Floats

    @classmethod
    def fresh(cls, width: int) -> Linear:
        """Nothing learned yet."""
        return cls(np.eye(width), np.zeros(width))

    def learn(self, x: Floats, reward: float) -> None:
        """One observation."""
        self.a += np.outer(x, x)
        self.b += reward * x

    def score(self, xs: Floats) -> Floats:
        """Estimate and bound for each row of `xs`."""
        inverse = np.linalg.inv(self.a)
        estimate = xs @ (inverse @ self.b)
        spread = np.einsum("ni,ij,nj->n", xs, inverse, xs)
        return np.asarray(estimate + ALPHA * np.sqrt(np.maximum(spread, 0.0)))

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        return {"a": self.a.tolist(), "b": self.b.tolist()}

    @classmethod
    def from_json(cls, data: dict[str, Any], width: int) -> Linear:
        """ValueError when it is not one of that width, or not made of finite numbers."""
        try:
            a, b = np.array(data["a"], dtype=np.float64), np.array(data["b"], dtype=np.float64)
        except (KeyError, TypeError) as error:
            raise ValueError(f"no linear model: {error!r}") from error
        if (
            a.shape != (width, width)
            or b.shape != (width,)
            or not (np.isfinite(a).all() and np.isfinite(b).all())
        ):
            raise ValueError(f"no linear model of width {width}")
        return cls(a, b)


@dataclass
class LinUCB:
    """The shared model and those of the arms; an arm is made when it is first learned of."""

    width: int
    shared: Linear
    arms: dict[str, Linear] = field(default_factory=dict)

    @classmethod
    def fresh(cls, width: int) -> LinUCB:
        """Nothing learned yet."""
        return cls(width, Linear.fresh(width))

    def learn(self, arm: str, x: Sequence[float], reward: float) -> None:
        """One choice and what came of it. ValueError unless x has the width and all is finite."""
        given = np.array(x, dtype=np.float64)
        if given.shape != (self.width,) or not np.isfinite(given).all() or not math.isfinite(reward):
            raise ValueError(f"no observation of width {self.width}: {x!r}, {reward!r}")
        self.shared.learn(given, reward)
        self.arms.setdefault(arm, Linear.fresh(self.width)).learn(given, reward)

    def scores(self, arms: Sequence[str], xs: Sequence[Sequence[float]]) -> list[float]:
        """The score of each context in its arm."""
        given = np.array(xs, dtype=np.float64).reshape(len(xs), self.width)
        total = self.shared.score(given)
        fresh = Linear.fresh(self.width)
        for arm in set(arms):
            rows = [k for k, name in enumerate(arms) if name == arm]
            total[rows] += self.arms.get(arm, fresh).score(given[rows])
        return [float(value) for value in total]

    def to_json(self) -> dict[str, Any]:
        """The JSON form."""
        arms = {name: model.to_json() for name, model in sorted(self.arms.items())}
        return {"width": self.width, "shared": self.shared.to_json(), "arms": arms}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> LinUCB:
        """ValueError when it is not one."""
        try:
            width, shared, arms = data["width"], data["shared"], dict(data["arms"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"no bandit: {error!r}") from error
        read = {name: Linear.from_json(model, width) for name, model in arms.items()}
        return cls(width, Linear.from_json(shared, width), read)
