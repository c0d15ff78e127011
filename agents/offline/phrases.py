"""The few words of the offline model's own: about its work, never about the subject."""

from collections.abc import Mapping

from knowledge.language import Language

_PHRASES: Mapping[str, Mapping[Language, str]] = {
    "no_model": {
        "en": "No model is set, so this text quotes your sources and adds no prose of its own.",
        "zh": "未设置模型，因此本文只引用你们的资料，不添加自己的文字。",
        "ja": "モデルが設定されていないため、この文章は資料の引用だけで、独自の文は加えていません。",
    },
    "done": {"en": "Done: {what}.", "zh": "已完成：{what}。", "ja": "実施済み：{what}。"},
    "not_done": {
        "en": "Not done without a model: “{what}”.",
        "zh": "没有模型无法完成：“{what}”。",
        "ja": "モデルなしではできません：「{what}」。",
    },
    "nothing_about": {
        "en": "No source that was read is about “{what}”; `research: {what}` searches again.",
        "zh": "读过的资料没有谈到“{what}”；回复“补充：{what}”可再次检索。",
        "ja": "読んだ資料に「{what}」についての記述はありません。「調査：{what}」で再検索できます。",
    },
    "dropped": {
        "en": "section {number} (“{heading}”; {ids}) dropped",
        "zh": "删除第 {number} 节（{heading}；{ids}）",
        "ja": "第{number}節（{heading}；{ids}）を削除",
    },
    "moved": {
        "en": "“{heading}” is now section {number}",
        "zh": "“{heading}”移为第 {number} 节",
        "ja": "「{heading}」を第{number}節に移動",
    },
    "renamed": {
        "en": "section {number} is now called “{heading}”",
        "zh": "第 {number} 节改名为“{heading}”",
        "ja": "第{number}節を「{heading}」に改題",
    },
    "shortened": {"en": "section {number} shortened", "zh": "缩短第 {number} 节", "ja": "第{number}節を短縮"},
    "extended": {
        "en": "section {number} says more about “{what}”",
        "zh": "第 {number} 节增加了关于“{what}”的内容",
        "ja": "第{number}節に「{what}」の内容を追加",
    },
    "reordered": {
        "en": "what says most about “{what}” comes first",
        "zh": "与“{what}”最相关的内容放在最前",
        "ja": "「{what}」に最も関係する内容を先頭に移動",
    },
    "section_added": {
        "en": "section {number} (“{heading}”) added",
        "zh": "新增第 {number} 节（{heading}）",
        "ja": "第{number}節（{heading}）を追加",
    },
    "gap": {
        "en": "No source was found about “{what}”.",
        "zh": "没有找到关于“{what}”的资料。",
        "ja": "「{what}」についての資料は見つかりませんでした。",
    },
    "single_source": {
        "en": "“{heading}” rests on {ids} alone.",
        "zh": "“{heading}”只有 {ids} 一个来源。",
        "ja": "「{heading}」の出典は {ids} だけです。",
    },
    "no_source": {
        "en": "No source in the knowledge base covers this point.",
        "zh": "知识库中没有关于这一点的资料。",
        "ja": "ナレッジベースにこの点についての資料はありません。",
    },
    "issue_uncited": {
        "en": "A paragraph states something without a source: “{what}”",
        "zh": "有一段没有注明来源：“{what}”",
        "ja": "出典のない段落があります：「{what}」",
    },
    "fix_uncited": {
        "en": "Cite the source or take the paragraph out.",
        "zh": "注明来源，或删去这一段。",
        "ja": "出典を示すか、段落を削除してください。",
    },
    "issue_single": {
        "en": "The section rests on one source, {ids}.",
        "zh": "本节只有一个来源 {ids}。",
        "ja": "この節の出典は {ids} の一つだけです。",
    },
    "fix_single": {
        "en": "Find a second source, or say that it is one source's view.",
        "zh": "再找一个来源，或说明这只是一家之言。",
        "ja": "二つ目の出典を探すか、一つの資料による旨を明記してください。",
    },
    "issue_no_source": {
        "en": "The section has no source.",
        "zh": "本节没有来源。",
        "ja": "この節には出典がありません。",
    },
    "fix_no_source": {
        "en": "Add documents about it and reply `research: {what}`, or drop the section.",
        "zh": "添加相关文档后回复“补充：{what}”，或删去本节。",
        "ja": "関連する文書を追加して「調査：{what}」と返信するか、この節を削除してください。",
    },
    "issue_short": {
        "en": "The section is short: fewer than three sentences.",
        "zh": "本节较短，不足三句。",
        "ja": "この節は短く、三文に満たない内容です。",
    },
    "fix_short": {
        "en": "Join it with a neighbour, or look for more: `research: {what}`.",
        "zh": "与相邻的节合并，或再检索：“补充：{what}”。",
        "ja": "隣の節と統合するか、「調査：{what}」で追加の資料を探してください。",
    },
    "issue_missing": {
        "en": "The outline has a section “{what}”; the draft does not.",
        "zh": "大纲中有“{what}”一节，稿件中没有。",
        "ja": "構成案にある「{what}」の節が原稿にありません。",
    },
    "fix_missing": {
        "en": "Write the section, or leave it out knowingly.",
        "zh": "补写这一节，或有意略去。",
        "ja": "この節を書くか、意図して省いてください。",
    },
    "issue_gap": {"en": "Known gap: {what}", "zh": "已知缺口：{what}", "ja": "既知の不足：{what}"},
    "fix_gap": {
        "en": "Add a document that answers it, then reply `research`.",
        "zh": "添加能回答它的文档，然后回复“补充”。",
        "ja": "答えとなる文書を追加し、「調査」と返信してください。",
    },
    "issue_repeated": {
        "en": "A sentence stands twice: “{what}”",
        "zh": "有一句话出现了两次：“{what}”",
        "ja": "同じ文が二度あります：「{what}」",
    },
    "fix_repeated": {"en": "Keep one of them.", "zh": "保留一处即可。", "ja": "一方だけ残してください。"},
    "feedback": {
        "en": "Checked by rules: {cited} of {all} paragraphs carry a citation, from {sources} sources. All "
        "sentences are quotations; whether they are right was not judged.",
        "zh": "按规则检查：{all} 段中有 {cited} 段注明来源，共 {sources} 个来源。"
        "所有句子均为原文引用，内容是否正确未作判断。",
        "ja": "規則による確認：{all} 段落中 {cited} 段落に出典があり、出典は {sources} 件です。"
        "文はすべて引用で、内容の当否は判断していません。",
    },
}


def phrase(key: str, language: Language, **parts: str | int) -> str:
    return _PHRASES[key][language].format(**parts)


def joined(phrases: list[str], language: Language) -> str:
    return ("; " if language == "en" else "；").join(phrases)
