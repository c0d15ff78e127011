"""Parts grouped by what they are about: the sections of an outline that nobody has written yet."""

from collections.abc import Collection, Sequence
from itertools import combinations

from agents.offline.parts import SEPARATOR, Part, Section, in_order
from agents.offline.relevance import NO_ROLE, ROLE_ORDER, likeness, role, share, terms, weights

_FEWEST, _MOST = 3, 6
_WHOLE_ACCOUNT = ("problem", "doing", "steps")  # kinds of questions
_LITTLE = 0.4  # of the relevance of the best group
_PASSAGES_A_SECTION = 3
_MOST_LABELS = 5
_FOREIGN_SOURCES = 2
_ENOUGH = 3  # findings in the article's language

Cluster = list[Part]


def outline_of(parts: Sequence[Part], topic: str, language: str) -> list[Section]:
    """Sections in the order in which a reader needs them.

    Who asks why, or how something is done, wants the whole account: the problem, the remedy, the steps, the
    limits. Who asks anything else wants the answer first, and nothing that has little to do with it.
    """
    weighed = weights(terms(topic), [part.bag for part in parts])
    clusters = _clusters(parts, language)

    def relevance(cluster: Cluster) -> float:
        return max(share(weighed, part.bag) for part in cluster)

    if (kind := role(topic)) in _WHOLE_ACCOUNT:
        places: dict[str, float] = dict(ROLE_ORDER)
        if kind != "problem":
            places["problem"] = places["limits"] - 0.5  # what goes wrong, behind what is right

        def part_of_account(cluster: Cluster) -> float:
            roles = sorted(places[part.role] for part in cluster if part.role)
            return roles[len(roles) // 2] if roles else NO_ROLE

        clusters.sort(key=lambda one: (part_of_account(one), -relevance(one), one[0].passage))
    else:
        clusters.sort(key=lambda one: (-relevance(one), one[0].passage))
        least = _LITTLE * relevance(clusters[0]) if clusters else 0.0
        clusters = [one for place, one in enumerate(clusters) if place < _FEWEST or relevance(one) >= least]

    titles = {part.title: _claims(parts, part.title) for part in parts}
    named: list[Section] = []
    for cluster in clusters:
        elsewhere = {title for title in titles if _claims(cluster, title) < titles[title] / 2}
        taken = {section.heading for section in named}
        named.append(section_of(cluster, language, weighed, taken=taken, elsewhere=elsewhere))
    return named


def _claims(parts: Sequence[Part], title: str) -> int:
    return sum(len(part.claims) for part in parts if part.title == title)


def section_of(
    cluster: Sequence[Part],
    language: str,
    weighed: dict[str, float],
    *,
    taken: Collection[str],
    elsewhere: Collection[str] = (),
) -> Section:
    """A section under the heading that fits the group best, in the article's language if there is one.

    Headings that are `taken` are not used; titles of documents that mostly stand `elsewhere`, rather not.
    """
    quoted = _to_quote(cluster, language)
    heading = _heading(quoted, language, weighed, taken, elsewhere)
    labels = [label for label in dict.fromkeys(part.label for part in quoted) if label != heading]
    titles = [title for title in dict.fromkeys(part.title for part in quoted) if title != heading]
    best = next((claim for part in quoted for claim in part.claims), "")
    return Section(
        number=0,
        heading=heading,
        description=SEPARATOR.join(labels[:_MOST_LABELS]) or SEPARATOR.join(titles[:2]) or best,
        source_ids=in_order({part.source_id for part in quoted}),
    )


def _heading(
    cluster: Sequence[Part],
    language: str,
    weighed: dict[str, float],
    taken: Collection[str],
    elsewhere: Collection[str],
) -> str:
    """Of the documents' headings and titles the one that covers most of the group and of the topic."""
    claims = sum(len(part.claims) for part in cluster) or 1
    subject = terms(" ".join(claim for part in cluster for claim in part.claims))

    def fit(name: str) -> tuple[bool, float]:
        named = [part for part in cluster if name in (part.label, part.title)]
        covered = sum(len(part.claims) for part in named) / claims
        bag = terms(name)
        fits = covered + share(weighed, bag) + 0.5 * len(bag & subject) / (len(bag) or 1)
        return any(part.lang == language for part in named), fits - 0.03 * len(name.split()) - 0.35 * (
            name in elsewhere
        )

    names = dict.fromkeys(name for part in cluster for name in (part.label, part.title) if name not in taken)
    if not names:
        return f"{cluster[0].label} ({len(taken) + 1})"
    return max(names, key=fit)


def _to_quote(cluster: Sequence[Part], language: str) -> list[Part]:
    """Parts in the article's language; those of two sources in others where it says too little or has one."""
    own = [part for part in cluster if part.lang == language]
    enough = sum(len(part.claims) for part in own) >= _ENOUGH
    if enough and (language == "en" or len({part.source_id for part in own}) > 1):
        return own
    foreign = sorted(
        (part for part in cluster if part.lang != language),
        key=lambda part: (part.lang != "en", -len(part.claims)),
    )
    sources = list(dict.fromkeys(part.source_id for part in foreign))[:_FOREIGN_SOURCES]
    return [*own, *(part for part in foreign if part.source_id in sources)]


def ids_of(parts: Sequence[Part]) -> tuple[str, ...]:
    return tuple(sorted({part.source_id for part in parts}, key=lambda source_id: int(source_id[1:])))


def _clusters(parts: Sequence[Part], language: str) -> list[Cluster]:
    """Groups of parts in the article's language, with those in others beside what they are most like.

    Where too little is in its language, all languages make groups alike.
    """
    rarity = weights({term for part in parts for term in part.bag}, [part.bag for part in parts])
    own = [part for part in parts if part.lang == language]
    if len(own) < _FEWEST:
        return _split_if_few(_clustered(parts, rarity), parts)
    clusters = _split_if_few(_clustered(own, rarity), own)
    for part in parts:
        if part.lang != language:
            likest = max(clusters, key=lambda cluster: max(_nearness(part, one, rarity) for one in cluster))
            likest.append(part)
    return clusters


def _clustered(parts: Sequence[Part], rarity: dict[str, float]) -> list[Cluster]:
    clusters: list[Cluster] = [[part] for part in parts]
    near = {
        frozenset((one.key, other.key)): _nearness(one, other, rarity)
        for one, other in combinations(parts, 2)
    }
    wanted = max(_FEWEST, min(_MOST, round(len(parts) / _PASSAGES_A_SECTION)))
    while len(clusters) > wanted:
        scores = [
            (_between(clusters[a], clusters[b], near), -a, -b)
            for a, b in combinations(range(len(clusters)), 2)
        ]
        _, a, b = max(scores)
        clusters[-a] += clusters.pop(-b)
    return clusters


def _between(one: Cluster, other: Cluster, near: dict[frozenset[tuple[int, int]], float]) -> float:
    links = [near[frozenset((a.key, b.key))] for a in one for b in other]
    # Large groups attract everything; a little less so.
    return sum(links) / len(links) - 0.03 * (len(one) + len(other))


def _nearness(one: Part, other: Part, rarity: dict[str, float]) -> float:
    common = sum(rarity[term] for term in one.bag & other.bag)
    smaller = min(sum(rarity[term] for term in bag) for bag in (one.bag, other.bag)) or 1.0
    headings = likeness(terms(one.label), terms(other.label))
    same_part = one.role is not None and one.role == other.role
    return common / smaller + 0.4 * headings + 0.35 * same_part + 0.3 * (one.source_id == other.source_id)


def _split_if_few(clusters: list[Cluster], parts: Sequence[Part]) -> list[Cluster]:
    """Where little was found: a group for each part, so that there is an outline at all."""
    if len(clusters) >= min(_FEWEST, len(parts)):
        return clusters
    return [[part] for part in parts]
