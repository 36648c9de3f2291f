"""The models as a tree of keys: what stands at a key path, which keys could, and the JSON Schema for editors."""

import types
from collections.abc import Sequence
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from stackctl.site.models import Site


def unwrap(annotation: Any) -> Any:
    """An annotation without ``Annotated`` and without ``| None``."""
    while True:
        if get_origin(annotation) is Annotated:
            annotation = get_args(annotation)[0]
        elif get_origin(annotation) in (Union, types.UnionType):
            parts = [part for part in get_args(annotation) if part is not type(None)]
            if len(parts) != 1:
                return annotation
            annotation = parts[0]
        else:
            return annotation


def is_model(annotation: Any) -> bool:
    """Whether the annotation is one of our models."""
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def annotation_at(path: Sequence[str | int]) -> Any:
    """The annotation of what stands at a key path of a site, or None where nothing can."""
    annotation: Any = Site
    for key in path:
        annotation = unwrap(annotation)
        if is_model(annotation):
            field = annotation.model_fields.get(key)
            if field is None:
                return None
            annotation = field.annotation
        elif get_origin(annotation) is dict:
            annotation = get_args(annotation)[1]
        elif get_origin(annotation) is tuple and isinstance(key, int):
            annotation = get_args(annotation)[0]
        else:
            return None
    return unwrap(annotation)


def known_keys(path: Sequence[str | int]) -> tuple[str, ...]:
    """The keys that the mapping at a key path may have; none where the operator chooses the names."""
    annotation = annotation_at(path)
    return tuple(annotation.model_fields) if is_model(annotation) else ()


def json_schema(model: type[BaseModel] = Site, title: str = "stack.yml") -> dict[str, Any]:
    """The JSON Schema (2020-12) of stack.yml, or of another model; unknown names are refused everywhere."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        **_tidy(model.model_json_schema()),
    }


def _tidy(value: Any) -> Any:
    if isinstance(value, list):
        return [_tidy(part) for part in value]
    if not isinstance(value, dict):
        return value
    tidy = {
        key: " ".join(part.split()) if key == "description" and isinstance(part, str) else _tidy(part)
        for key, part in value.items()
        if key != "title" or not isinstance(part, str)
    }
    if "patternProperties" in tidy:
        tidy.pop("propertyNames", None)
        tidy["additionalProperties"] = False
    return tidy
