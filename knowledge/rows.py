"""Rows of articles and decisions as values."""

import asyncpg

from knowledge.article import Action, Article, ArticleError, Decision, Mode, Status


def article_of(row: asyncpg.Record, decisions: tuple[Decision, ...]) -> Article:
    """An article with the decisions that were read with it."""
    values = {name: row[name] for name in Article.__dataclass_fields__ if name != "decisions"}
    values["mode"] = Mode(row["mode"])
    values["status"] = Status(row["status"])
    values["error"] = None if row["error"] is None else _error(row["error"])
    return Article(**values, decisions=decisions)


def decision_of(row: asyncpg.Record) -> Decision:
    return Decision(
        id=row["id"],
        on=row["on_what"],
        action=Action(row["action"]),
        text=row["text"],
        section=row["section"],
        by=row["by"],
        version=row["version"],
        at=row["at"],
        state=row["state"],
        outcome=row["outcome"],
    )


def error_json(error: ArticleError) -> dict[str, str]:
    return {"leg": error.leg, "code": error.code, "message": error.message}


def _error(value: dict[str, str]) -> ArticleError:
    return ArticleError(leg=Status(value["leg"]), code=value["code"], message=value["message"])
