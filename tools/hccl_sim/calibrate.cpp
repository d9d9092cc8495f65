#include "hccl_sim/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "collective/error.h"

namespace hccl_sim {
namespace {

using updraft::Error;
namespace result = updraft::collective::result;
using updraft::collective::name_of;

struct Word {
  Kind kind;
  const char *test, *sim;
};
constexpr Word kWords[] = {
    {Kind::AllReduce, "all_reduce", "allreduce"}, {Kind::ReduceScatter, "reduce_scatter", "reducescatter"},
    {Kind::AllGather, "all_gather", "allgather"}, {Kind::Broadcast, "broadcast", "broadcast"},
    {Kind::Reduce, "reduce", "reduce"},           {Kind::Scatter, "scatter", "scatter"},
    {Kind::AllToAll, "alltoall", "alltoall"}};

std::string trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  size_t begin = 0;
  while (begin < text.size() && std::isspace(static_cast<unsigned char>(text[begin]))) ++begin;
  return text.substr(begin);
}

std::vector<std::string> cells(const std::string& line, char separator) {
  std::vector<std::string> fields;
  std::istringstream parts(line);
  for (std::string field; std::getline(parts, field, separator);) fields.push_back(trimmed(field));
  return fields;
}

std::optional<double> number(const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || end != text.c_str() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

Algorithm algorithm_of(const std::string& text) {
  for (int a = 0; a <= static_cast<int>(Algorithm::Pairwise); ++a)
    if (text == name_of(static_cast<Algorithm>(a))) return static_cast<Algorithm>(a);
  throw Error(result::kPara, "the algorithm is \"{}\": wanted auto, ring, H-D_R, NHR, NB, AHC or pipeline", text);
}

// The unknowns: the launch; α, overhead, β and γ inside the servers, then between them, and there the rendezvous; what
// sleepers take to wake, a byte in the cache.
constexpr size_t kUnknowns = 12;
using Values = std::array<double, kUnknowns>;
constexpr unsigned kIntra = 0xc1e, kInter = 0x3e0;
/// Amounts that matter: steps of the derivatives.
constexpr Values kSmall = {1e-7, 1e-7, 1e-8, 1e-12, 1e-12, 1e-7, 1e-8, 1e-12, 1e-12, 1e-7, 1e-7, 1e-12};

/// What an intra link may be.
struct Shape {
  bool memory, dedicated;
  double cache;
};
/// Ranks that share cores are processes of a host, whose caches are tried one after another.
std::vector<Shape> shapes(const std::vector<Measurement>& measurements) {
  std::vector<Shape> all = {{true, false, 0}};
  const bool inside = std::ranges::any_of(measurements, [](const Measurement& m) { return m.ranks > m.servers; });
  const bool processes = std::ranges::any_of(measurements, [](const Measurement& m) { return m.cores > 0; });
  for (double cache = 1 << 18; inside && processes && cache <= 1 << 26; cache *= 2) all.push_back({true, false, cache});
  if (inside && !processes) all.insert(all.end(), {{false, true, 0}, {false, false, 0}});
  return all;
}

Fabric fabric_of(const Values& x, const Shape& shape) {
  Fabric fabric;
  fabric.launch = x[0];
  fabric.intra = {{x[1], x[3], x[4]}, x[2], shape.dedicated, 0, shape.memory, x[10], shape.cache, x[11]};
  fabric.inter = {{x[5], x[7], x[8]}, x[6], false, x[9]};
  fabric.super = fabric.inter;
  return fabric;
}

/// Sums for the least squares of rows · x = 1, with columns brought to one size.
struct Normal {
  std::array<Values, kUnknowns> products{};
  Values sums{}, scale{};
  explicit Normal(const std::vector<Values>& rows) {
    for (const Values& row : rows)
      for (size_t i = 0; i < kUnknowns; ++i) scale[i] += row[i] * row[i];
    for (double& s : scale) s = std::sqrt(s);
    for (const Values& row : rows)
      for (size_t i = 0; i < kUnknowns; ++i) {
        if (!(scale[i] > 0)) continue;
        sums[i] += row[i] / scale[i];
        for (size_t j = 0; j < kUnknowns; ++j)
          if (scale[j] > 0) products[i][j] += row[i] / scale[i] * row[j] / scale[j];
      }
  }
};

/// With the unknowns of `used` only; nothing where they are not determined.
std::optional<Values> solve(const Normal& normal, unsigned used) {
  std::vector<size_t> index;
  for (size_t i = 0; i < kUnknowns; ++i)
    if (used >> i & 1) index.push_back(i);
  const size_t n = index.size();
  std::vector<std::vector<double>> a(n, std::vector<double>(n + 1, 0));
  for (size_t i = 0; i < n; ++i) {
    if (!(normal.scale[index[i]] > 0)) return std::nullopt;
    for (size_t j = 0; j < n; ++j) a[i][j] = normal.products[index[i]][index[j]];
    a[i][n] = normal.sums[index[i]];
  }
  for (size_t i = 0; i < n; ++i) {
    size_t best = i;
    for (size_t r = i + 1; r < n; ++r)
      if (std::abs(a[r][i]) > std::abs(a[best][i])) best = r;
    std::swap(a[i], a[best]);
    if (std::abs(a[i][i]) < 1e-9) return std::nullopt;
    for (size_t r = 0; r < n; ++r) {
      if (r == i) continue;
      const double f = a[r][i] / a[i][i];
      for (size_t c = i; c <= n; ++c) a[r][c] -= f * a[i][c];
    }
  }
  Values x{};
  for (size_t i = 0; i < n; ++i) x[index[i]] = a[i][n] / a[i][i] / normal.scale[index[i]];
  return x;
}

/// Of all choices of unknowns, the one without negative values that comes nearest; nothing where there is none.
std::optional<Values> nearest(const std::vector<Values>& rows) {
  const Normal normal(rows);
  std::optional<Values> best;
  double least = 0;
  for (unsigned used = 1; used < 1u << kUnknowns; ++used) {
    const auto x = solve(normal, used);
    if (!x || std::ranges::any_of(*x, [](double v) { return v < 0; })) continue;
    // what the squares have beyond the number of rows
    double error = 0;
    for (size_t i = 0; i < kUnknowns; ++i) {
      const double mine = (*x)[i] * normal.scale[i];
      error -= 2 * mine * normal.sums[i];
      for (size_t j = 0; j < kUnknowns; ++j) error += mine * normal.products[i][j] * (*x)[j] * normal.scale[j];
    }
    if (best && error >= least - 1e-12 * static_cast<double>(rows.size())) continue;
    least = error;
    best = x;
  }
  return best;
}

std::vector<double> predictions(const std::vector<Measurement>& measurements, const Fabric& fabric) {
  std::vector<double> all;
  for (const Measurement& m : measurements) all.push_back(predict_measurement(m, fabric));
  return all;
}

double squares(const std::vector<Measurement>& measurements, const std::vector<double>& predicted) {
  double sum = 0;
  for (size_t i = 0; i < measurements.size(); ++i) {
    const double error = predicted[i] / measurements[i].seconds - 1;
    sum += error * error;
  }
  return sum;
}

/// By how much each time grows with each unknown, at `x`, as parts of what was measured. A time is made of sums and of
/// the larger of two: it grows evenly as long as the same one is larger.
std::vector<Values> slopes(const std::vector<Measurement>& measurements, const Values& x, const Shape& shape) {
  std::vector<Values> rows(measurements.size());
  const std::vector<double> here = predictions(measurements, fabric_of(x, shape));
  for (size_t i = 0; i < kUnknowns; ++i) {
    Values there = x;
    const double step = std::max(kSmall[i], x[i] * 1e-3);
    there[i] += step;
    const std::vector<double> more = predictions(measurements, fabric_of(there, shape));
    for (size_t m = 0; m < rows.size(); ++m) rows[m][i] = (more[m] - here[m]) / step / measurements[m].seconds;
  }
  return rows;
}

constexpr size_t kFewest = 4;

}  // namespace

Kind kind_of(const std::string& operation) {
  std::string names;
  for (const Word& w : kWords) {
    if (operation == w.test || operation == w.sim) return w.kind;
    names += (names.empty() ? "" : ", ") + std::string(w.test);
  }
  throw Error(result::kPara, "the operation is \"{}\": wanted one of {}", operation, names);
}

const char* hccl_test_name(Kind kind) { return kWords[static_cast<size_t>(kind)].test; }

std::vector<Measurement> parse_measurements(const std::string& text, const std::string& name) {
  std::vector<Measurement> all;
  std::map<std::string, size_t> columns;
  std::istringstream lines(text);
  int at = 0;
  for (std::string line; std::getline(lines, line);) {
    ++at;
    line = trimmed(line);
    if (line.empty() || line.front() == '#') continue;
    const std::vector<std::string> fields = cells(line, ',');
    if (columns.empty()) {
      for (size_t i = 0; i < fields.size(); ++i) columns[fields[i]] = i;
      for (const char* needed : {"operation", "ranks", "bytes", "us"})
        if (!columns.contains(needed))
          throw Error(result::kPara,
                      "{} line {}: the heading has no column {}: wanted operation,ranks,bytes,us and, if you like, "
                      "servers, algorithm and cores, got \"{}\" (hccl_sim --measure writes such a file)",
                      name, at, needed, line);
      continue;
    }
    const auto field = [&](const char* column, const std::string& otherwise) {
      const auto it = columns.find(column);
      return it != columns.end() && it->second < fields.size() ? fields[it->second] : otherwise;
    };
    const auto value = [&](const char* column, const char* otherwise, double least, double most) {
      const auto got = number(field(column, otherwise));
      if (!got || *got < least || *got > most)
        throw Error(result::kPara, "{} line {}: {} must be a number in [{}, {}], got \"{}\"", name, at, column, least,
                    most, field(column, otherwise));
      return *got;
    };
    Measurement m;
    try {
      m.kind = kind_of(field("operation", ""));
      m.algorithm = algorithm_of(field("algorithm", "auto"));
    } catch (const Error& e) { throw Error(result::kPara, "{} line {}: {}", name, at, e.text()); }
    m.ranks = static_cast<int>(value("ranks", "", 2, 1024));
    m.servers = static_cast<int>(value("servers", "1", 1, 1024));
    m.bytes = value("bytes", "", 1, 1e13);
    m.cores = value("cores", "0", 0, 1e6);
    m.seconds = value("us", "", 1e-3, 1e12) * 1e-6;
    if (m.ranks % m.servers != 0)
      throw Error(result::kPara, "{} line {}: {} ranks do not share {} servers evenly", name, at, m.ranks, m.servers);
    all.push_back(m);
  }
  if (all.empty()) throw Error(result::kPara, "{}: it has no measurements", name);
  return all;
}

std::vector<Measurement> parse_hccl_test(const std::string& output, const Measurement& like) {
  std::vector<Measurement> all;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = cells(line, '|');
    if (fields.size() < 3) continue;
    const auto bytes = number(fields[0]), us = number(fields[1]);
    if (!bytes || !us || !(*bytes > 0 && *us > 0)) continue;
    all.push_back(like);
    all.back().bytes = *bytes;
    all.back().seconds = *us * 1e-6;
  }
  return all;
}

std::string to_csv(const std::vector<Measurement>& measurements) {
  std::string out = "operation,ranks,servers,algorithm,bytes,us,cores\n";
  for (const Measurement& m : measurements)
    out += fmt::format("{},{},{},{},{:.0f},{:.3f},{:g}\n", hccl_test_name(m.kind), m.ranks, m.servers,
                       name_of(m.algorithm), m.bytes, m.seconds * 1e6, m.cores);
  return out;
}

double predict_measurement(const Measurement& m, const Fabric& fabric) {
  Cluster cluster;
  cluster.cards.assign(static_cast<size_t>(m.servers), m.ranks / m.servers);
  cluster.fabric = fabric;
  cluster.cores = m.cores / m.servers;
  Operation operation = operation_of(m.kind, m.algorithm, m.bytes, m.ranks, 4);
  // the library takes another where there is no such form
  if (!supports(operation)) operation.algorithm = Algorithm::Auto;
  return predict_on(operation, cluster).seconds;
}

Calibration calibrate(const std::vector<Measurement>& measurements) {
  Calibration best;
  double least = -1;
  for (const Shape& shape : shapes(measurements)) {
    // what each unknown makes alone is a first guess at the slopes
    std::vector<Values> rows(measurements.size());
    unsigned seen = 0;
    for (size_t i = 0; i < kUnknowns; ++i) {
      Values unit{};
      unit[i] = 1;
      const std::vector<double> alone = predictions(measurements, fabric_of(unit, shape));
      for (size_t m = 0; m < rows.size(); ++m) {
        rows[m][i] = alone[m] / measurements[m].seconds;
        if (alone[m] > 0) seen |= 1u << i;
      }
    }
    for (int turn = 0; turn < 6; ++turn) {
      const auto x = nearest(rows);
      if (!x) break;
      const Fabric fabric = fabric_of(*x, shape);
      std::vector<double> predicted = predictions(measurements, fabric);
      const double error = squares(measurements, predicted);
      if (least < 0 || error < least * (1 - 1e-9)) {
        least = error;
        best = {fabric, (seen & kIntra) != 0, (seen & kInter) != 0, std::move(predicted)};
      }
      rows = slopes(measurements, *x, shape);
    }
  }
  if (least < 0 || measurements.size() < kFewest)
    throw Error(result::kPara,
                "calibration: {} measurements are too few to fit latency and bandwidth: wanted {} or more of different "
                "sizes (hccl_sim --measure FILE makes them)",
                measurements.size(), kFewest);
  return best;
}

std::vector<double> held_out(const std::vector<Measurement>& measurements) {
  std::vector<double> predicted(measurements.size());
  for (const size_t half : {0u, 1u}) {
    // every other one: neighbours are of the same operation on the same ranks, and of sizes on both sides
    std::vector<Measurement> others;
    for (size_t i = 1 - half; i < measurements.size(); i += 2) others.push_back(measurements[i]);
    if (others.size() < kFewest) return {};
    const Fabric fabric = calibrate(others).fabric;
    for (size_t i = half; i < measurements.size(); i += 2) predicted[i] = predict_measurement(measurements[i], fabric);
  }
  return predicted;
}

std::string residuals(const std::vector<Measurement>& measurements, const std::vector<double>& predicted) {
  std::string out = fmt::format("{:<14} {:>5} {:>7} {:<9} {:>12} {:>12} {:>12} {:>8}\n", "operation", "ranks",
                                "servers", "algorithm", "bytes", "measured us", "predicted us", "error");
  for (size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& m = measurements[i];
    const double error = predicted[i] / m.seconds - 1;
    out += fmt::format("{:<14} {:>5} {:>7} {:<9} {:>12.0f} {:>12.1f} {:>12.1f} {:>+7.0f}%\n", hccl_test_name(m.kind),
                       m.ranks, m.servers, name_of(m.algorithm), m.bytes, m.seconds * 1e6, predicted[i] * 1e6,
                       100 * error);
  }
  return out + errors(measurements, predicted);
}

std::string errors(const std::vector<Measurement>& measurements, const std::vector<double>& predicted) {
  std::vector<double> all;
  for (size_t i = 0; i < measurements.size(); ++i) all.push_back(std::abs(predicted[i] / measurements[i].seconds - 1));
  std::ranges::sort(all);
  return fmt::format("error: median {:.0f} %, nine of ten within {:.0f} %, largest {:.0f} %, of {} measurements\n",
                     100 * all[all.size() / 2], 100 * all[all.size() * 9 / 10], 100 * all.back(), all.size());
}

nlohmann::json to_json(const Calibration& calibration) {
  nlohmann::json result = nlohmann::json::object();
  result["launch"] = calibration.fabric.launch;
  if (calibration.intra) result["intra"] = to_json(calibration.fabric.intra);
  if (calibration.inter) result["inter"] = to_json(calibration.fabric.inter);
  return result;
}

}  // namespace hccl_sim
