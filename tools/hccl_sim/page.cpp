// The page: one file without anything from elsewhere, without a script; two buttons choose the language.
#include <fmt/format.h>

#include "hccl_sim/chart.h"
#include "hccl_sim/report.h"

namespace hccl_sim {
namespace {

using updraft::collective::name_of;

constexpr const char* kStyle = R"(
:root{color-scheme:light dark;--ink:#222;--paper:#fff;--line:#ddd}
@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#14171c;--line:#39404a}}
body{font:15px/1.5 system-ui,"Noto Sans CJK SC",sans-serif;max-width:920px;margin:1.5em auto;padding:0 1em;color:var(--ink);
background:var(--paper)}
.wide{overflow-x:auto}p{overflow-wrap:anywhere}
svg{width:100%;min-width:560px;height:auto;margin:1em 0}svg text{font:12px system-ui,"Noto Sans CJK SC",sans-serif;fill:var(--ink)}
svg text.title{font-size:15px;font-weight:600}.grid{stroke:var(--line)}
table{border-collapse:collapse;margin:1em 0}
td,th{padding:2px 10px;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
td:first-child,th:first-child{text-align:left}
.best{font-weight:700}
#en:checked~main .zh,#zh:checked~main .en{display:none}
)";

/// Both languages, as elements of which one is seen.
std::string both(const std::string& en, const std::string& zh, const char* tag = "span") {
  return fmt::format("<{0} class=\"en\" lang=\"en\">{1}</{0}><{0} class=\"zh\" lang=\"zh-CN\">{2}</{0}>", tag, en, zh);
}
std::string paragraph(const std::string& en, const std::string& zh) { return both(en, zh, "p") + "\n"; }
std::string heading(const char* en, const char* zh) { return both(en, zh, "h2") + "\n"; }
std::string cells(const std::vector<std::string>& words, const char* tag = "td") {
  std::string row = "<tr>";
  for (const std::string& word : words) row += fmt::format("<{0}>{1}</{0}>", tag, word);
  return row + "</tr>\n";
}
std::string table(const std::string& rows) { return "<div class=\"wide\"><table>" + rows + "</table></div>\n"; }
std::string marked(const std::string& text, bool best) {
  return best ? "<span class=\"best\">" + text + "</span>" : text;
}

std::string speed(double seconds_a_byte) {
  return seconds_a_byte > 0 ? fmt::format("{:.4g} GB/s", 1e-9 / seconds_a_byte) : "∞";
}
std::string link_row(const std::string& name, const Link& link) {
  return cells({name, fmt::format("{:.3g} µs", link.cost.alpha * 1e6), speed(link.cost.beta), speed(link.cost.gamma),
                link.dedicated ? both("to each peer", "每对一条")
                               : both(fmt::format("shared, {:.3g} µs for each further message", link.overhead * 1e6),
                                      fmt::format("共用，每多一条消息 {:.3g} µs", link.overhead * 1e6))});
}

std::string links(const Cluster& cluster) {
  std::string rows = cells({both("link", "链路"), both("latency", "时延"), both("bandwidth", "带宽"),
                            both("combining", "归约"), both("port", "端口")},
                           "th");
  if (cluster.most_cards() > 1) rows += link_row(both("inside a server", "服务器内"), cluster.fabric.intra);
  if (cluster.servers() > 1) rows += link_row(both("between servers", "服务器间"), cluster.fabric.inter);
  if (cluster.super_pods() > 1) rows += link_row(both("between super pods", "超节点间"), cluster.fabric.super);
  return table(rows);
}

std::string steps_table(const Report& report) {
  std::string rows = cells({both("algorithm", "算法"), both("step", "训练步"), both("waiting", "等待通信"),
                            both("all collectives", "全部通信"), both("efficiency", "效率")},
                           "th");
  const double best = best_of(report.steps).seconds;
  for (const Step& s : report.steps)
    rows += cells(
        {name_of(s.algorithm),
         marked(fmt::format("{:.3f} ms{}", s.seconds * 1e3, s.simulated ? "" : " *"), s.seconds <= best * (1 + 1e-9)),
         fmt::format("{:.3f} ms", s.exposed * 1e3), fmt::format("{:.3f} ms", s.communication * 1e3),
         fmt::format("{:.1f} %", s.seconds > 0 ? 100 * report.buckets.compute / s.seconds : 100)});
  return table(rows);
}

std::string variants_table(const Report& report) {
  std::string rows = cells(
      {both("what if", "假设"), both("take", "采用"), both("step", "训练步"), both("against today", "与现状相比")},
      "th");
  const double today = best_of(report.steps).seconds;
  for (const Variant& v : report.variants)
    rows += cells({"<code>" + escaped(v.changes) + "</code>", name_of(v.best.algorithm),
                   fmt::format("{:.3f} ms", v.best.seconds * 1e3),
                   fmt::format("{:+.1f} %", today > 0 ? 100 * (v.best.seconds / today - 1) : 0)});
  return table(rows);
}

std::string scaling_table(const Report& report) {
  std::vector<std::string> head = {both("servers", "服务器"), both("ranks", "rank 数")};
  for (const Step& s : report.scaling.front().steps) head.emplace_back(name_of(s.algorithm));
  std::string rows = cells(head, "th");
  for (const ScalePoint& p : report.scaling) {
    std::vector<std::string> row = {std::to_string(p.servers), std::to_string(p.ranks)};
    const double best = best_of(p.steps).seconds;
    for (const Step& s : p.steps)
      row.push_back(
          marked(fmt::format("{:.3f} ms{}", s.seconds * 1e3, s.simulated ? "" : " *"), s.seconds <= best * (1 + 1e-9)));
    rows += cells(row);
  }
  return table(rows);
}

std::string collectives_table(const Report& report) {
  std::string rows = cells(
      {both("collective", "集合通信"), both("bytes", "字节"), both("algorithm", "算法"), both("time", "时间")}, "th");
  for (const CollectiveRow& row : report.collectives)
    rows += cells({word_of(row.operation.kind), fmt::format("{:.0f}", row.bytes), name_of(row.operation.algorithm),
                   fmt::format("{:.4f} ms{}", row.prediction.seconds * 1e3, row.prediction.simulated ? "" : " *")});
  return table(rows);
}

}  // namespace

std::string to_html(const Report& report, bool chinese) {
  const std::string name = escaped(report.model.name);
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"{}\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>hccl_sim: {}</title>\n<style>{}"
      "</style></head><body>\n"
      "<input type=\"radio\" name=\"language\" id=\"en\"{}><label for=\"en\">English</label>\n"
      "<input type=\"radio\" name=\"language\" id=\"zh\"{}><label for=\"zh\">中文</label>\n<main>\n",
      chinese ? "zh-CN" : "en", name, kStyle, chinese ? "" : " checked", chinese ? " checked" : "");
  const int ranks = report.cluster.ranks();
  out += both(fmt::format("{} on {} ranks", name, ranks), fmt::format("{}，{} 个 rank", name, ranks), "h1") + "\n";
  out += paragraph(escaped(advice(report)), escaped(advice(report, true)));
  const double megabytes = report.model.bytes() / 1e6, compute = report.buckets.compute;
  const size_t buckets = report.buckets.gradients.size();
  out += paragraph(
      fmt::format("{:.1f} MB of gradients in {} buckets; {:.3f} ms of computation a step. Predicted, not measured: the "
                  "links below are what was assumed.",
                  megabytes, buckets, compute * 1e3),
      fmt::format("梯度 {:.1f} MB，分为 {} 个桶；每步计算 {:.3f} ms。以下为预测值而非实测值，所用链路参数见下表。",
                  megabytes, buckets, compute * 1e3));
  out += links(report.cluster);
  out += heading("The step", "训练步") + steps_table(report);
  out += "<div class=\"wide\">" + timeline(report.buckets, best_of(report.steps)) + "</div>\n";
  if (!report.variants.empty()) out += heading("What if", "假设分析") + variants_table(report);
  if (!report.scaling.empty()) {
    out += heading("Scaling", "扩展性") + "<div class=\"wide\">";
    out += chart(
        {"Collectives of a step", "每步的集合通信时间"}, report.scaling,
        [](const Step& s) { return s.communication * 1e3; }, "ms", true);
    out += chart(
        {"Scaling efficiency: computation / step", "扩展效率：计算时间 / 训练步时间"}, report.scaling,
        [=](const Step& s) { return s.seconds > 0 ? 100 * compute / s.seconds : 100; }, "%", false);
    out += chart(
        {"Step time", "训练步时间"}, report.scaling, [](const Step& s) { return s.seconds * 1e3; }, "ms", false);
    out += "</div>\n" + scaling_table(report);
  }
  out += heading("Collectives", "集合通信") + collectives_table(report);
  out += both("Bold: the shortest. * by the closed formula instead of the simulation.",
              "粗体为最短；* 为闭式公式的结果，而非逐轮模拟。", "p");
  return out + "\n</main></body></html>\n";
}

}  // namespace hccl_sim
