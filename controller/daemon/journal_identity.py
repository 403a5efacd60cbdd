"""Whether the journal is the table's own: another table's would give the devices numbers that they have seen before."""

from __future__ import annotations

from controller.journal import Journal, JournalForeign


def journal_replaced(journal: Journal, configured: str, *, accept: bool) -> str:
    """The id of the journal that this one replaces; empty if it is the table's own.

    `configured` is the id in the configuration, if there is one; otherwise the journal that was last used here counts.
    JournalForeign if this is another one, unless a person has said with --new-journal that this is intended.
    """
    own = configured or journal.last_here
    if not own or journal.id == own:
        return ""
    if accept:
        return own
    found = f"this is journal {journal.id}" if journal.id else "this journal is empty"
    known = "according to journal.id in the configuration" if configured else "which was last used here"
    raise JournalForeign(
        f"{journal.path}: {found}, and the table's own is {own}, {known}; restore a copy of that one, or correct "
        "journal.file. If this one is right, start `shoed --new-journal` once"
        + (", and correct journal.id in the configuration" if configured else "")
    )
