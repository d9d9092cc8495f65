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

// The unknowns: α, β, γ and overhead inside the servers, then between them.
constexpr size_t kUnknowns = 8;
using Values = std::array<double, kUnknowns>;

Fabric fabric_of(const Values& x, bool dedicated) {
  Fabric fabric;
  fabric.intra = {{x[0], x[1], x[2]}, x[3], dedicated};
  fabric.inter = {{x[4], x[5], x[6]}, x[7], false};
  fabric.super = fabric.inter;
  return fabric;
}

/// Least squares of rows · x = 1 with the unknowns of `used` only; nothing where they are not determined.
std::optional<Values> solve(const std::vector<Values>& rows, unsigned used) {
  std::vector<size_t> index;
  for (size_t i = 0; i < kUnknowns; ++i)
    if (used >> i & 1) index.push_back(i);
  const size_t n = index.size();
  // The columns are of very different sizes: each is brought to 1.
  std::vector<double> scale(n, 0);
  for (const Values& row : rows)
    for (size_t i = 0; i < n; ++i) scale[i] += row[index[i]] * row[index[i]];
  for (double& s : scale) {
    if (!(s > 0)) return std::nullopt;
    s = std::sqrt(s);
  }
  std::vector<std::vector<double>> a(n, std::vector<double>(n + 1, 0));
  for (const Values& row : rows)
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < n; ++j) a[i][j] += row[index[i]] / scale[i] * row[index[j]] / scale[j];
      a[i][n] += row[index[i]] / scale[i];
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
  for (size_t i = 0; i < n; ++i) x[index[i]] = a[i][n] / a[i][i] / scale[i];
  return x;
}

double squares(const std::vector<Values>& rows, const Values& x) {
  double sum = 0;
  for (const Values& row : rows) {
    double got = 0;
    for (size_t i = 0; i < kUnknowns; ++i) got += row[i] * x[i];
    sum += (got - 1) * (got - 1);
  }
  return sum;
}

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
                      "servers and algorithm, got \"{}\" (hccl_sim --measure writes such a file)",
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
    m.seconds = value("us", "", 1e-3, 1e12) * 1e-6;
    if (m.ranks % m.servers != 0)
      throw Error(result::kPara, "{} line {}: {} ranks do not share {} servers evenly", name, at, m.ranks, m.servers);
    all.push_back(m);
  }
  if (all.empty()) throw Error(result::kPara, "{}: it has no measurements", name);
  return all;
}

std::vector<Measurement> parse_hccl_test(const std::string& output, Kind kind, int ranks) {
  std::vector<Measurement> all;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> fields = cells(line, '|');
    if (fields.size() < 3) continue;
    const auto bytes = number(fields[0]), us = number(fields[1]);
    if (bytes && us && *bytes > 0 && *us > 0) all.push_back({kind, ranks, 1, Algorithm::Auto, *bytes, *us * 1e-6});
  }
  return all;
}

std::string to_csv(const std::vector<Measurement>& measurements) {
  std::string out = "operation,ranks,servers,algorithm,bytes,us\n";
  for (const Measurement& m : measurements)
    out += fmt::format("{},{},{},{},{:.0f},{:.3f}\n", hccl_test_name(m.kind), m.ranks, m.servers, name_of(m.algorithm),
                       m.bytes, m.seconds * 1e6);
  return out;
}

double predict_measurement(const Measurement& m, const Fabric& fabric) {
  Cluster cluster;
  cluster.cards.assign(static_cast<size_t>(m.servers), m.ranks / m.servers);
  cluster.fabric = fabric;
  Operation operation = operation_of(m.kind, m.algorithm, m.bytes, m.ranks, 4);
  // within one server the library knows one way; elsewhere it takes another where there is no such form
  if (m.servers == 1 || !supports(operation)) operation.algorithm = Algorithm::Auto;
  return predict_on(operation, cluster).seconds;
}

Calibration calibrate(const std::vector<Measurement>& measurements) {
  Calibration best;
  double least = -1;
  for (const bool dedicated : {true, false}) {
    // A time is the sum of each unknown times what the simulation says of it alone.
    std::vector<Values> rows;
    unsigned seen = 0;
    for (const Measurement& m : measurements) {
      Values row{};
      for (size_t i = 0; i < kUnknowns; ++i) {
        Values unit{};
        unit[i] = 1;
        row[i] = predict_measurement(m, fabric_of(unit, dedicated)) / m.seconds;
        if (row[i] > 0) seen |= 1u << i;
      }
      rows.push_back(row);
    }
    // α and β of every level that occurs, and what else makes it better without being negative
    for (unsigned used = 1; used < 1u << kUnknowns; ++used) {
      if ((used & ~seen) != 0) continue;
      const auto x = solve(rows, used);
      if (!x || std::ranges::any_of(*x, [](double v) { return v < 0; })) continue;
      const double error = squares(rows, *x);
      if (least >= 0 && error >= least * (1 - 1e-9)) continue;
      least = error;
      best.fabric = fabric_of(*x, dedicated);
      best.intra = (seen & 0x0f) != 0;
      best.inter = (seen & 0xf0) != 0;
    }
  }
  if (least < 0 || measurements.size() < 4)
    throw Error(result::kPara,
                "calibration: {} measurements are too few to fit latency and bandwidth: wanted 4 or more of different "
                "sizes (hccl_sim --measure FILE makes them)",
                measurements.size());
  for (const Measurement& m : measurements) best.predicted.push_back(predict_measurement(m, best.fabric));
  return best;
}

std::string residuals(const std::vector<Measurement>& measurements, const std::vector<double>& predicted) {
  std::string out = fmt::format("{:<14} {:>5} {:>7} {:<9} {:>12} {:>12} {:>12} {:>8}\n", "operation", "ranks",
                                "servers", "algorithm", "bytes", "measured us", "predicted us", "error");
  std::vector<double> errors;
  for (size_t i = 0; i < measurements.size(); ++i) {
    const Measurement& m = measurements[i];
    const double error = predicted[i] / m.seconds - 1;
    errors.push_back(std::abs(error));
    out += fmt::format("{:<14} {:>5} {:>7} {:<9} {:>12.0f} {:>12.1f} {:>12.1f} {:>+7.0f}%\n", hccl_test_name(m.kind),
                       m.ranks, m.servers, name_of(m.algorithm), m.bytes, m.seconds * 1e6, predicted[i] * 1e6,
                       100 * error);
  }
  std::ranges::sort(errors);
  out += fmt::format("error: median {:.0f} %, nine of ten within {:.0f} %, largest {:.0f} %, of {} measurements\n",
                     100 * errors[errors.size() / 2], 100 * errors[errors.size() * 9 / 10], 100 * errors.back(),
                     errors.size());
  return out;
}

nlohmann::json to_json(const Calibration& calibration) {
  nlohmann::json result = nlohmann::json::object();
  const auto link = [](const Link& l) {
    return nlohmann::json{{"alpha", l.cost.alpha},
                          {"beta", l.cost.beta},
                          {"gamma", l.cost.gamma},
                          {"overhead", l.overhead},
                          {"dedicated", l.dedicated}};
  };
  if (calibration.intra) result["intra"] = link(calibration.fabric.intra);
  if (calibration.inter) result["inter"] = link(calibration.fabric.inter);
  return result;
}

}  // namespace hccl_sim
