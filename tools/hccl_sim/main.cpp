// hccl_sim: predicts collectives and training steps on clusters of up to 16,384 cards and more, by the schedules that
// the library executes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/error.h"
#include "collective/error.h"
#include "hccl_sim/calibrate.h"
#include "hccl_sim/measure.h"
#include "hccl_sim/presets.h"
#include "hccl_sim/report.h"

namespace {

using namespace hccl_sim;
using nlohmann::json;
using updraft::Error;
using updraft::collective::Algorithm;
using updraft::collective::Kind;
using updraft::collective::Type;
namespace result = updraft::collective::result;

struct Options {
  std::string cluster, preset, rank_table, model = "resnet50", html, json, measure, calibrate, validate,
                                           language = "en";
  std::vector<std::string> compare, sizes = {"64K", "25M"};
  Measured measured;
  std::vector<std::string> hosts;
  std::vector<uint64_t> counts;
  int servers = 0, cards = 0, scale_to = 0, root = 0;
  double bucket_mb = 25, first_bucket_mb = 1, forward_ms = -1, backward_ms = -1;
  uint64_t count = 0;
  Kind kind = Kind::AllReduce;
  Algorithm algorithm = Algorithm::Auto;
  Type type = Type::Float32;
  bool messages = false, presets = false;
};

json description_of(const Options& options) {
  json description = options.preset.empty() ? json::object() : preset(options.preset);
  if (!options.cluster.empty()) {
    const json file = read_json(options.cluster);
    if (!file.is_object() || description.empty()) description = file;
    else description.merge_patch(file);
  }
  if (options.servers > 0) description["servers"] = options.servers;
  if (options.cards > 0) description["cards_per_server"] = options.cards;
  if (options.cards > 0 || options.servers > 0) description.erase("ranks");
  return description;
}

Cluster cluster_of(const Options& options, const json& description) {
  Cluster cluster = parse_cluster(description);
  if (options.rank_table.empty()) return cluster;
  Cluster table = read_rank_table_cluster(options.rank_table);
  table.fabric = cluster.fabric;
  table.ports = cluster.ports;
  return table;
}

/// "64K", "25M", "25e6": bytes.
double bytes_of(const std::string& text) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  const std::string unit = end;
  constexpr const char* units = "KMGT";
  const char* at = unit.size() == 1 ? std::strchr(units, std::toupper(unit[0])) : nullptr;
  if (at) value *= std::pow(1024.0, at - units + 1);
  if (end == text.c_str() || (!unit.empty() && !at) || !(value >= 0 && value <= 1e15))
    throw Error(result::kPara, "--bytes: wanted a size such as 4096, 64K, 25M or 1G, got \"{}\"", text);
  return value;
}

/// What --counts says of the kinds that need it.
std::vector<uint64_t> counts_of(const Options& options, size_t ranks) {
  const bool blocks = options.kind == Kind::AllGatherV || options.kind == Kind::ReduceScatterV;
  const size_t want = blocks ? ranks : options.kind == Kind::AllToAllV ? ranks * ranks : 0;
  if (options.counts.size() != want)
    throw Error(result::kPara, "--counts: {} of {} ranks wants {} numbers{}, got {}", word_of(options.kind), ranks,
                want,
                blocks ? " (elements of the block of each rank)"
                : want ? " (elements that each rank has for each, in the order of the senders)"
                       : "",
                options.counts.size());
  for (const uint64_t count : options.counts)
    if (count > uint64_t{1} << 40) throw Error(result::kPara, "--counts: {} is more than 2^40 elements", count);
  return options.counts;
}

/// "10.0.0.1" or "10.0.0.1=ip netns exec a".
Host host_of(const std::string& text) {
  const size_t equal = text.find('=');
  return {text.substr(0, equal), equal == std::string::npos ? "" : text.substr(equal + 1)};
}

/// The messages as lines of CSV, in the order of rounds and senders.
void print_messages(const Options& options, const Cluster& cluster) {
  if (cluster.ranks() > 8)
    throw Error(result::kPara, "--messages is for 8 ranks at most, the cluster has {}: give --servers and --cards",
                cluster.ranks());
  if (options.root >= cluster.ranks())
    throw Error(result::kPara, "--root is {}, but the cluster has the ranks 0 to {}", options.root,
                cluster.ranks() - 1);
  const auto element = static_cast<double>(updraft::collective::size_of(options.type));
  Operation operation =
      operation_of(options.kind, options.algorithm, bytes_of(options.sizes.back()), cluster.ranks(), element);
  if (options.count > 0) operation.elements = options.count;
  operation.root = options.root;
  operation.counts = counts_of(options, static_cast<size_t>(cluster.ranks()));
  if (options.kind == Kind::Barrier) operation.element_bytes = 8;
  std::puts("stage,round,src,dst,bytes,level");
  for (const SimulatedMessage& m : messages_on(operation, cluster))
    std::puts(fmt::format("{},{},{},{},{:.0f},{}", m.stage, m.round, m.from, m.to, m.bytes, name_of(m.level)).c_str());
}

void predict_collectives(const Options& options, const std::vector<Algorithm>& algorithms, Report& report) {
  const auto element = static_cast<double>(updraft::collective::size_of(options.type));
  for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather, Kind::Broadcast, Kind::Reduce,
                          Kind::Scatter, Kind::AllToAll}) {
    for (const std::string& size : options.sizes) {
      const double bytes = bytes_of(size);
      for (const Algorithm algorithm : kind == Kind::AllToAll ? std::vector{Algorithm::Pairwise} : algorithms) {
        const Operation operation = operation_of(kind, algorithm, bytes, report.cluster.ranks(), element);
        if (supports(operation))
          report.collectives.push_back({operation, bytes, predict_on(operation, report.cluster)});
      }
    }
  }
}

std::vector<Step> steps_of(const Model& buckets, const Cluster& cluster, const std::vector<Algorithm>& algorithms) {
  std::vector<Step> steps;
  for (const Algorithm algorithm : algorithms) steps.push_back(simulate_step(buckets, cluster, algorithm));
  return steps;
}

void calibrate_from(const Options& options) {
  const auto measurements = parse_measurements(read_text(options.calibrate), options.calibrate);
  const Calibration calibration = calibrate(measurements);
  std::fputs(residuals(measurements, calibration.predicted).c_str(), stdout);
  const std::vector<double> unseen = held_out(measurements);
  if (!unseen.empty())
    std::fputs(("held out (each half by the other's fit): " + errors(measurements, unseen)).c_str(), stdout);
  const std::string links = to_json(calibration).dump(1) + "\n";
  std::fputs(links.c_str(), stdout);
  if (!options.json.empty()) write_text(options.json, links);
}

void validate(const Options& options, const Cluster& cluster) {
  const auto measurements = parse_measurements(read_text(options.validate), options.validate);
  std::vector<double> predicted;
  for (const Measurement& m : measurements) predicted.push_back(predict_measurement(m, cluster.fabric));
  std::fputs(residuals(measurements, predicted).c_str(), stdout);
}

void run(const Options& options) {
  if (options.presets) {
    for (const Preset& p : presets()) std::puts(fmt::format("{:<14} {}", p.name, p.about).c_str());
    return;
  }
  if (!options.measure.empty()) {
    Measured what = options.measured;
    for (const std::string& host : options.hosts) what.hosts.push_back(host_of(host));
    what.algorithm = options.algorithm;
    write_text(options.measure, to_csv(measure(what)));
    if (options.calibrate.empty()) return;
  }
  if (!options.calibrate.empty()) return calibrate_from(options);
  if (!options.rank_table.empty() && (options.servers > 0 || options.cards > 0))
    throw Error(result::kPara,
                "--rank-table says how many servers and cards there are: leave --servers and --cards out");
  const json description = description_of(options);
  Report report;
  report.cluster = cluster_of(options, description);
  if (!options.validate.empty()) return validate(options, report.cluster);
  if (options.messages) return print_messages(options, report.cluster);

  std::vector<Algorithm> algorithms = candidates(report.cluster);
  const bool one_server = report.cluster.servers() == 1;  // where no algorithm has a say
  if (!one_server && options.algorithm != Algorithm::Auto && options.algorithm != Algorithm::Pairwise)
    algorithms = {options.algorithm};
  predict_collectives(options, algorithms, report);
  report.model = timed(read_model(options.model), options.forward_ms * 1e-3, options.backward_ms * 1e-3);
  report.buckets = bucketised(report.model, options.bucket_mb * (1 << 20), options.first_bucket_mb * (1 << 20));
  report.steps = steps_of(report.buckets, report.cluster, algorithms);
  for (const std::string& changes : options.compare) {
    json changed = description;
    changed.erase("ranks");
    change(changed, changes);
    for (const char* size : {"servers", "cards_per_server", "servers_per_super_pod"})
      if (!options.rank_table.empty() && changes.find(size) != std::string::npos)
        throw Error(result::kPara, "--compare {}: the rank table says how many there are: change links only", changes);
    const Cluster cluster = cluster_of(options, changed);
    const auto wanted = algorithms.size() == 1 ? algorithms : candidates(cluster);
    report.variants.push_back({changes, cluster, best_of(steps_of(report.buckets, cluster, wanted))});
  }
  if (!options.html.empty() || !options.json.empty() || options.scale_to > 0)
    report.scaling = scale(report.buckets, report.cluster, options.scale_to > 0 ? options.scale_to : 16384);

  std::fputs(to_text(report).c_str(), stdout);
  if (!options.json.empty()) write_text(options.json, to_json(report).dump(1) + "\n");
  if (!options.html.empty()) write_text(options.html, to_html(report, options.language == "zh"));
}

/// One of the words, in any case. CLI11's own transformer shows the values, too, which are bytes here.
template <class Value>
CLI::Validator one_of(const std::map<std::string, Value>& values) {
  std::string all;
  for (const auto& [word, value] : values) all += (all.empty() ? "" : " ") + word;
  return {[values, all](std::string& text) -> std::string {
            for (const auto& [word, value] : values)
              if (CLI::detail::to_lower(word) == CLI::detail::to_lower(text)) {
                text = CLI::detail::value_string(value);
                return "";
              }
            return fmt::format("{} is none of {}", text, all);
          },
          "{" + all + "}"};
}

void add_options(CLI::App& app, Options& options) {
  app.add_option("--cluster", options.cluster, "JSON: servers, cards_per_server, intra, inter and super links…")
      ->check(CLI::ExistingFile);
  app.add_option("--preset", options.preset, "a cluster that has a name; --cluster and the rest change it");
  app.add_flag("--presets", options.presets, "lists them");
  app.add_option("--rank-table", options.rank_table,
                 "servers, cards and super pods from a rank table; links from --cluster or --preset")
      ->check(CLI::ExistingFile);
  app.add_option("--servers", options.servers, "servers (default 1, or --cluster's)")->check(CLI::Range(1, 1 << 20));
  app.add_option("--cards", options.cards, "cards a server (default 8, or --cluster's)")->check(CLI::Range(1, 1 << 20));
  app.add_option(
         "--model", options.model,
         "resnet50, or a JSON or CSV file of gradients and their times (python -m updraft.gradients writes one)")
      ->capture_default_str();
  app.add_option("--bucket-mb", options.bucket_mb, "MiB that a bucket is filled to; 0: gradients as they are")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--first-bucket-mb", options.first_bucket_mb, "MiB of the first bucket; 0: as the others")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--forward-ms", options.forward_ms, "the forward pass on your card, instead of the model's time")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--backward-ms", options.backward_ms, "the backward pass on your card, instead of the model's time")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--bytes", options.sizes, "data of the single collectives: 64K,25M")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--compare", options.compare,
                 "what if: inter.bandwidth_GBps=50,servers=32; several times for several clusters");
  app.add_option("--scale-to", options.scale_to, "ranks that the scaling goes up to (16384 with --html or --json)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--html", options.html, "file for the page with the plots");
  app.add_option("--language", options.language, "en or zh: which the page shows first")
      ->check(CLI::IsMember({"en", "zh"}));
  app.add_option("--json", options.json, "file for all results");
  app.add_option("--measure", options.measure, "file for what hccl_test measures on this machine now (CSV)");
  app.add_option("--ranks", options.measured.ranks, "of --measure: numbers of ranks")
      ->delimiter(',')
      ->check(CLI::Range(2, 64))
      ->capture_default_str();
  app.add_option("--spread", options.measured.servers,
                 "of --measure: numbers of servers that the ranks are spread over")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  app.add_option("--turns", options.measured.turns, "of --measure: runs, of which the shortest counts")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option(
      "--host", options.hosts,
      "of --measure: ADDRESS, or ADDRESS=WORDS that start a program there (\"ip netns exec a\"); one for each "
      "server, else the servers are addresses of the loopback");
  app.add_option("--calibrate", options.calibrate, "fits the links to such a file; --json writes them for --cluster");
  app.add_option("--validate", options.validate, "compares such a file with what the cluster's links predict");
  app.add_flag("--messages", options.messages, "print the messages of one collective as CSV (8 ranks at most)");
  std::map<std::string, Kind> kinds;
  for (int k = 0; k <= static_cast<int>(Kind::Barrier); ++k)
    if (static_cast<Kind>(k) != Kind::AllToAllVC) kinds[word_of(static_cast<Kind>(k))] = static_cast<Kind>(k);
  std::map<std::string, Algorithm> algorithms;
  for (int a = 0; a <= static_cast<int>(Algorithm::Pairwise); ++a)
    algorithms[updraft::collective::name_of(static_cast<Algorithm>(a))] = static_cast<Algorithm>(a);
  std::map<std::string, Type> types;
  for (int t = 0; t < updraft::collective::kTypes; ++t)
    types[updraft::collective::name_of(static_cast<Type>(t))] = static_cast<Type>(t);
  app.add_option("--kind", options.kind, "the collective of --messages")->transform(one_of(kinds));
  app.add_option("--algorithm", options.algorithm,
                 "between servers, only this one (default: compare all; --messages and --measure: by cost)")
      ->transform(one_of(algorithms));
  app.add_option("--root", options.root, "of --messages' broadcast, reduce or scatter")->check(CLI::NonNegativeNumber);
  app.add_option("--counts", options.counts,
                 "of --messages' allgatherv, reducescatterv and alltoallv: the ranks' elements")
      ->delimiter(',');
  app.add_option("--count", options.count, "elements of --messages' collective as HCCL counts them, instead of --bytes")
      ->check(CLI::PositiveNumber);
  app.add_option("--type", options.type, "element type")->transform(one_of(types));
}

}  // namespace

int main(int argc, char** argv) {
  // a rank table may be of servers that have more cards than this machine
  setenv("UPDRAFT_DEVICES", "1024", 0);
  Options options;
  CLI::App app("Predicts HCCL's collectives and the training step on a cluster, and says which algorithm to take");
  add_options(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);
    std::fputs(fmt::format("hccl_sim: {} (hccl_sim --help)\n", e.what()).c_str(), stderr);
    return 2;
  }
  try {
    run(options);
  } catch (const Error& e) {
    std::fputs(fmt::format("hccl_sim: {}\n", e.text()).c_str(), stderr);
    return 1;
  } catch (const nlohmann::json::exception& e) {
    std::fputs(fmt::format("hccl_sim: {}\n", e.what()).c_str(), stderr);
    return 1;
  }
  return 0;
}
