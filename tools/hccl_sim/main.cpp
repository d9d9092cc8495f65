// hccl_sim: predicts collectives and training steps on clusters of up to 16,384 cards and more, by the schedules that
// the library executes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "base/error.h"
#include "collective/error.h"
#include "hccl_sim/report.h"

namespace {

using namespace hccl_sim;
using updraft::Error;
using updraft::collective::Algorithm;
using updraft::collective::Kind;
using updraft::collective::Type;

struct Options {
  std::string cluster, rank_table, model = "resnet50", html, json;
  int servers = 0, cards = 0, scale_to = 0, root = 0;
  double bucket_mb = 25, forward_ms = 35, backward_ms = 70, bytes = 25e6;
  uint64_t count = 0;
  Kind kind = Kind::AllReduce;
  Algorithm algorithm = Algorithm::Auto;
  Type type = Type::Float32;
  bool messages = false;
};

Cluster cluster_of(const Options& options) {
  nlohmann::json description = options.cluster.empty() ? nlohmann::json::object() : read_json(options.cluster);
  if (options.servers > 0) description["servers"] = options.servers;
  if (options.cards > 0) description["cards_per_server"] = options.cards;
  Cluster cluster = parse_cluster(description);
  if (options.rank_table.empty()) return cluster;
  Cluster table = read_rank_table_cluster(options.rank_table);
  table.fabric = cluster.fabric;
  return table;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw Error(updraft::collective::result::kOpenFile, "{} cannot be written", path);
}

/// The messages as lines of CSV, in the order of rounds and senders.
void print_messages(const Options& options, const Cluster& cluster) {
  if (cluster.ranks() > 8)
    throw Error(updraft::collective::result::kPara, "--messages is for 8 ranks at most, the cluster has {}",
                cluster.ranks());
  const auto element = static_cast<double>(updraft::collective::size_of(options.type));
  Operation operation = operation_of(options.kind, options.algorithm, options.bytes, cluster.ranks(), element);
  if (options.count > 0) operation.elements = options.count;
  if (options.root >= cluster.ranks())
    throw Error(updraft::collective::result::kPara, "--root is {}, but the cluster has ranks 0 to {}", options.root,
                cluster.ranks() - 1);
  operation.root = options.root;
  std::puts("stage,round,src,dst,bytes,level");
  for (const SimulatedMessage& m : messages_on(operation, cluster))
    std::puts(fmt::format("{},{},{},{},{:.0f},{}", m.stage, m.round, m.from, m.to, m.bytes, name_of(m.level)).c_str());
}

void run(const Options& options) {
  Report report;
  report.cluster = cluster_of(options);
  if (options.messages) return print_messages(options, report.cluster);

  const auto wanted = [&](Algorithm a) { return options.algorithm == Algorithm::Auto || options.algorithm == a; };
  const auto element = static_cast<double>(updraft::collective::size_of(options.type));
  std::vector<Algorithm> algorithms = candidates(report.cluster);
  if (options.algorithm != Algorithm::Auto && options.algorithm != Algorithm::Pairwise)
    algorithms = {options.algorithm};
  for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter, Kind::AllGather, Kind::Broadcast, Kind::Reduce,
                          Kind::Scatter, Kind::AllToAll}) {
    std::vector<Algorithm> all = algorithms;
    if (kind == Kind::AllToAll) all = {Algorithm::Pairwise};
    for (const Algorithm algorithm : all) {
      const Operation operation = operation_of(kind, algorithm, options.bytes, report.cluster.ranks(), element);
      if (wanted(algorithm) && supports(operation))
        report.collectives.push_back({operation, options.bytes, predict_on(operation, report.cluster)});
    }
  }
  report.model = read_model(options.model, options.forward_ms * 1e-3, options.backward_ms * 1e-3);
  report.buckets = bucketised(report.model, options.bucket_mb * (1 << 20));
  for (const Algorithm algorithm : algorithms)
    report.steps.push_back(simulate_step(report.buckets, report.cluster, algorithm));
  const bool plots = !options.html.empty() || !options.json.empty();
  if (plots || options.scale_to > 0)
    report.scaling = scale(report.buckets, report.cluster, options.scale_to > 0 ? options.scale_to : 16384);

  std::fputs(to_text(report).c_str(), stdout);
  if (!options.json.empty()) write(options.json, to_json(report).dump(1) + "\n");
  if (!options.html.empty()) write(options.html, to_html(report));
}

}  // namespace

int main(int argc, char** argv) {
  // a rank table may be of servers that have more cards than this machine
  setenv("UPDRAFT_DEVICES", "1024", 0);
  Options options;
  CLI::App app("Predicts HCCL's collectives and the training step on a cluster, and says which algorithm to take");
  app.add_option("--cluster", options.cluster, "JSON: servers, cards_per_server, intra and inter links")
      ->check(CLI::ExistingFile);
  app.add_option("--rank-table", options.rank_table, "servers and cards from a rank table; links from --cluster")
      ->check(CLI::ExistingFile);
  app.add_option("--servers", options.servers, "servers (default 1, or --cluster's)")->check(CLI::Range(1, 1 << 20));
  app.add_option("--cards", options.cards, "cards a server (default 8, or --cluster's)")->check(CLI::Range(1, 1 << 20));
  app.add_option("--model", options.model, "resnet50, or a JSON or CSV file of gradients and their times")
      ->capture_default_str();
  app.add_option("--bucket-mb", options.bucket_mb, "MiB that a bucket is filled to; 0: gradients as they are")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--forward-ms", options.forward_ms, "resnet50's forward pass on your card")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--backward-ms", options.backward_ms, "resnet50's backward pass on your card")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--bytes", options.bytes, "data of the single collectives")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--scale-to", options.scale_to, "ranks that the scaling goes up to (16384 with --html or --json)")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--html", options.html, "file for the page with the scaling plots");
  app.add_option("--json", options.json, "file for all results");
  app.add_flag("--messages", options.messages, "print the messages of one collective as CSV (8 ranks at most)");
  std::map<std::string, Kind> kinds;
  for (int k = 0; k <= static_cast<int>(Kind::AllToAll); ++k)
    kinds[word_of(static_cast<Kind>(k))] = static_cast<Kind>(k);
  std::map<std::string, Algorithm> algorithms;
  for (int a = 0; a <= static_cast<int>(Algorithm::Pairwise); ++a)
    algorithms[updraft::collective::name_of(static_cast<Algorithm>(a))] = static_cast<Algorithm>(a);
  std::map<std::string, Type> types;
  for (int t = 0; t < updraft::collective::kTypes; ++t)
    types[updraft::collective::name_of(static_cast<Type>(t))] = static_cast<Type>(t);
  app.add_option("--kind", options.kind, "the collective of --messages")
      ->transform(CLI::CheckedTransformer(kinds, CLI::ignore_case));
  app.add_option("--algorithm", options.algorithm, "only this one (default: compare all)")
      ->transform(CLI::CheckedTransformer(algorithms, CLI::ignore_case));
  app.add_option("--root", options.root, "of --messages' broadcast, reduce or scatter")->check(CLI::NonNegativeNumber);
  app.add_option("--count", options.count, "elements of --messages' collective as HCCL counts them, instead of --bytes")
      ->check(CLI::PositiveNumber);
  app.add_option("--type", options.type, "element type")->transform(CLI::CheckedTransformer(types, CLI::ignore_case));
  CLI11_PARSE(app, argc, argv);
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
