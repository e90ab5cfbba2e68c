"""The rungs of a ladder: which template, with which parameters, and when it may be tried."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_validator,
)
from pydantic_core import CoreSchema
from ric.errors import TemplateParameterError
from ric.explain import PlacedError
from ric.sm import tc

from tc_controller.core.inputs import Pipeline

#: What the controller fills in when it decides, from the flow inventory.
CHOSEN: Final = {"segregate_greedy": "greedy", "flow_slicing": "slices"}
#: Templates for traffic that understands L4S marks.
FOR_L4S: Final = frozenset({"l4s", "fq_l4s"})

_SLICING: Final = ("greedy_rate_kbps", "greedy_share", "burst_ms")


class Strict(BaseModel):
    """Unknown keys, NaN and infinities are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Condition(Strict):
    """When a rung may be tried. A condition on a quantity that is not known yet is not met."""

    min_active_flows: int | None = Field(
        default=None, ge=0, description="Fewest flows in the inventory."
    )
    max_active_flows: int | None = Field(
        default=None, ge=0, description="Most flows in the inventory."
    )
    min_greedy_flows: int | None = Field(default=None, ge=0, description="Fewest greedy flows.")
    ect1_traffic: bool | None = Field(
        default=None, description="Whether ECT(1) traffic must be seen."
    )


class Rung(BaseModel):
    """One template of E2SM-TC annex A and its non-default parameters."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)

    template: str = Field(description="The name of a template.")
    when: Condition = Field(default_factory=Condition)
    greedy_rate_kbps: Annotated[int, Field(ge=1, le=100_000_000)] | None = Field(
        default=None, description="flow_slicing: rate left to all greedy flows together."
    )
    greedy_share: Annotated[float, Field(gt=0.0, le=1.0)] | None = Field(
        default=None,
        description="flow_slicing: the same as a share of the drain rate measured at the decision.",
    )
    burst_ms: int = Field(
        default=10, ge=1, le=1000, description="flow_slicing: bucket depth at that rate, ms."
    )

    #: The former name by which the policy gives the template.
    _former: str | None = PrivateAttr(default=None)

    @property
    def former_name(self) -> str | None:
        """The former name by which the policy gives the template."""
        return self._former

    @property
    def parameters(self) -> dict[str, Any]:
        """The template's parameters that the policy gives."""
        return dict(self.model_extra or {})

    def pipeline(self) -> Pipeline:
        """The pipeline of a template for any traffic."""
        return tc.pipeline(self.template, self.parameters)

    @model_validator(mode="wrap")
    @classmethod
    def _by_name_in_force(cls, data: Any, handler: ModelWrapValidatorHandler[Rung]) -> Rung:
        given = data.get("template") if isinstance(data, dict) else None
        now = tc.former_templates().get(given) if isinstance(given, str) else None
        rung = handler(data if now is None else {**data, "template": now})
        if now is not None:
            rung._former = given
        return rung

    @model_validator(mode="after")
    def _makes_a_pipeline(self) -> Rung:
        if (chosen := CHOSEN.get(self.template)) in self.parameters:
            raise PlacedError((str(chosen),), "unknown key; the controller selects these flows")
        if self.template == "flow_slicing":
            if (self.greedy_rate_kbps is None) == (self.greedy_share is None):
                raise ValueError("expected exactly one of greedy_rate_kbps and greedy_share")
        elif given := self.model_fields_set.intersection(_SLICING):
            raise PlacedError((min(given),), "unknown key; only flow_slicing has it")
        try:
            tc.pipeline(self.template, self.parameters)
        except TemplateParameterError as error:
            raise PlacedError(tuple(filter(None, (error.parameter,))), error.detail) from None
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """One alternative per template, with its parameters."""
        own = handler.resolve_ref_schema(handler(core_schema))["properties"]
        return {"oneOf": [_alternative(name, own) for name in tc.templates()]}


def in_force(rung: Rung) -> list[tuple[str, Any, Any]]:
    """The parameters of the rung's template: path, value in force, default."""
    names = CHOSEN.get(rung.template, "")
    of = tc.template_schema(rung.template).get("properties", {})
    taken = {name: schema for name, schema in of.items() if name != names}
    if rung.template == "flow_slicing":
        slicing = Rung.model_fields
        taken |= {name: {"default": slicing[name].default} for name in _SLICING}
    given = {**rung.parameters, **rung.model_dump(include=set(_SLICING))}
    return [
        row
        for name, schema in sorted(taken.items())
        for row in _flattened(name, given.get(name), schema)
    ]


def _flattened(path: str, given: Any, schema: dict[str, Any]) -> list[tuple[str, Any, Any]]:
    if "properties" not in schema:
        default = schema.get("default")
        return [(path, default if given is None else given, default)]
    parts = given or {}
    return [
        row
        for name, part in sorted(schema["properties"].items())
        for row in _flattened(f"{path}.{name}", parts.get(name), part)
    ]


def _alternative(name: str, own: dict[str, Any]) -> dict[str, Any]:
    taken = tc.template_schema(name)
    properties = dict(taken.get("properties", {}))
    properties.pop(CHOSEN.get(name, ""), None)
    if name == "flow_slicing":
        properties |= {key: own[key] for key in _SLICING}
    names = [name, *(former for former, now in tc.former_templates().items() if now == name)]
    return {
        "title": name,
        "type": "object",
        "description": taken.get("description", ""),
        "properties": {"template": {"enum": names}, "when": own["when"], **properties},
        "required": ["template"],
        "additionalProperties": False,
    }
