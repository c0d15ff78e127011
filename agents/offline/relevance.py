"""What a text is about, in terms that can be counted and compared across English, Chinese and Japanese."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache

from knowledge.language import language_of
from knowledge.tokens import STOP_WORDS, tokens

# Words that a topic or request is asked with, not about; English ones beyond the search's stop words.
_ASKING = re.compile(
    "should|would|could|can|must|need|want|explain|describe|tell|write|article|about|introduction|overview|guide"
    "|way|best|good|better|make|us(?:e|ing|ed)|get|give|new|section|part|please|more|less|also|like|just",
    re.IGNORECASE,
)
_ASKING_CJK = re.compile(
    "为什么|為什麼|为何|什么是|什么|怎么样|怎样|怎么|如何|是否|哪些|哪个|应该|應該|应当|需要|可以|能否|必须"
    "|关于|以及|我们|你们|它们|进行|有关|介绍|说明|请|吗|呢|吧|的|了|是|在|从|到|和|与|及|或|把|被|将|对|让|给|用|为|中|更|多"
    "|なぜ|どうして|どうやって|どのように|何を|何が|とは|べきなのか|べきですか|べきか|べき|でしょうか|ですか|ますか"
    "|なのか|のか|について|するのは|するには|するべき|する|した|して|こと|もの|ため|から|まで|より|など|です|ます"
    "|[のはがをにへでともやか]"
)
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_WORD = re.compile(
    r"[\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff]+|(?:(?![\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff])[^\W_])+"
)
_CJK = re.compile(r"[\u3005-\u30ff\u3400-\u9fff\uf900-\ufaff]")

# Parts that an account of almost any matter has, in the order in which readers need them. They tie together
# what is said in several languages, where words alone would not.
_ROLES: tuple[tuple[str, str], ...] = (
    (
        "problem",
        r"\b(?:why|problem|risk|attack|crack|weak|broken|insecure|fail|history|past|incident|danger|threat|legacy)"
        "|为什么|问题|风险|攻击|破解|碰撞|弱点|不安全|过时|历史|事故|威胁|危险|暴露"
        "|なぜ|問題|危険|攻撃|解読|脆弱|弱点|歴史|事故|脅威|破ら",
    ),
    (
        "basics",
        r"\b(?:what is|basics?|concept|background|definition|overview|how .+ works?|principle|theory)"
        "|是什么|基础|概念|背景|原理|定义|概述|とは|基礎|概念|背景|原理|仕組み|定義|概要",
    ),
    (
        "choice",
        r"\b(?:choos|choice|recommend|compar|alternativ|versus|vs|decision|select|which|instead)"
        "|选择|推荐|比较|对比|选型|决定|方案|選択|選び|推奨|比較|決定",
    ),
    (
        "settings",
        r"\b(?:parameter|config|setting|tun(?:e|ing)|memory|iteration|threshold|default|amount|ratio|temperature)"
        "|参数|配置|设置|内存|调优|阈值|パラメータ|パラメーター|設定|メモリ|調整|閾値",
    ),
    (
        "doing",
        r"\b(?:implement|code|example|api|library|in go|usage|using|how to|recipe|method|function)"
        "|实现|代码|示例|用法|函数|实践|実装|コード|使い方|関数|実践|例",
    ),
    (
        "steps",
        r"\b(?:migrat|upgrad|re-?hash|step|transition|rollout|switch|replac|wrap|procedure|runbook|plan|stage)"
        "|迁移|升级|步骤|过渡|替换|切换|流程|计划|包装|移行|手順|段階|切り替え|置き換え|計画|更新",
    ),
    (
        "running",
        r"\b(?:monitor|test|capacity|latency|performance|operat|measur|deploy|cost|load|concurren|maint|alert)"
        "|监控|测试|容量|性能|运维|延迟|部署|成本|并发|维护|告警|監視|テスト|容量|性能|運用|遅延|同時|保守",
    ),
    (
        "limits",
        r"\b(?:limit|caveat|complian|polic|exception|fips|standard|regulat|pitfall|mistake|never)"
        "|限制|合规|策略|例外|标准|误区|注意|局限|制限|準拠|方針|例外|標準|注意|落とし穴",
    ),
)
_ROLE_PATTERNS = tuple((name, re.compile(pattern, re.IGNORECASE)) for name, pattern in _ROLES)
ROLE_ORDER = {name: place for place, (name, _) in enumerate(_ROLES)}
NO_ROLE = len(_ROLES) / 2


@lru_cache(maxsize=20_000)
def terms(text: str) -> frozenset[str]:
    """Stems, identifiers and pairs of CJK characters; no function words."""
    plain = _ASKING_CJK.sub(" ", text)
    # What is as short as one or two letters counts as a word, not as a piece of one: Go, but not the "id" of
    # Argon2id. A single CJK character says little, unless it is all there is of a word.
    words = {word.casefold() for word in _WORD.findall(plain)}
    return frozenset(
        term
        for term in tokens(plain)
        if term not in STOP_WORDS
        and not _ASKING.fullmatch(term)
        and (len(term) > 2 or term in words or not term.isalnum() or (len(term) == 2 and _CJK.match(term)))
    )


def key_phrases(text: str) -> list[str]:
    """The parts of a topic that can be asked for alone: runs of words between function words."""
    phrases: list[str] = []
    plain = _ASKING_CJK.sub(" , ", text)
    if language_of(text) == "ja":
        plain = _HIRAGANA.sub(" , ", plain)  # endings and particles: what it is about stands in other scripts
    for clause in re.split(r"[^\w\s./+#'-]+", plain):
        run: list[str] = []
        for word in [*clause.split(), ""]:
            bare = word.strip(".'-")
            if bare and bare.casefold() not in STOP_WORDS and not _ASKING.fullmatch(bare):
                run.append(bare)
            elif run:
                phrases.append(" ".join(run))
                run = []
    return list(
        dict.fromkeys(
            phrase for phrase in phrases if (len(phrase) > 1 or _CJK.match(phrase)) and terms(phrase)
        )
    )


def weights(query: Collection[str], texts: Iterable[Collection[str]]) -> dict[str, float]:
    """What each term of a query weighs: more, the fewer of the texts have it."""
    texts = list(texts)
    having = Counter(term for text in texts for term in set(text))
    return {term: math.log(1 + len(texts) / (1 + having[term])) for term in query}


def share(weighed: Mapping[str, float], text: Collection[str]) -> float:
    """How much of a weighed query a text has, 0 to 1."""
    whole = sum(weighed.values())
    return sum(weight for term, weight in weighed.items() if term in text) / whole if whole else 0.0


def likeness(one: Collection[str], other: Collection[str]) -> float:
    """How much of the shorter text is in the longer, 0 to 1."""
    shorter = min(len(one), len(other))
    return len(set(one).intersection(other)) / shorter if shorter else 0.0


@lru_cache(maxsize=5_000)
def role(text: str) -> str | None:
    """The part that a heading announces, by its first sign; None if it gives no sign."""
    found = [(match.start(), name) for name, pattern in _ROLE_PATTERNS if (match := pattern.search(text))]
    return min(found)[1] if found else None
