// α, β and γ of a machine's links from times that hccl_test measured on it.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hccl_sim/operation.h"

namespace hccl_sim {

struct Measurement {
  Kind kind = Kind::AllReduce;
  int ranks = 1, servers = 1;  ///< the ranks are spread evenly
  Algorithm algorithm = Algorithm::Auto;
  double bytes = 0;
  double seconds = 0;
  double cores = 0;  ///< that all ranks of all servers share; 0: each has its own
};

/// CSV with a heading that names the columns operation, ranks, bytes, us and, where there are, servers, algorithm and
/// cores. Operations as hccl_test or hccl_sim names them. Throws updraft::Error with the line.
std::vector<Measurement> parse_measurements(const std::string& text, const std::string& name);
/// The lines of hccl_test's table, as measurements that are otherwise as `like`.
std::vector<Measurement> parse_hccl_test(const std::string& output, const Measurement& like);
std::string to_csv(const std::vector<Measurement>& measurements);
/// "all_reduce", "allreduce"… Throws updraft::Error.
Kind kind_of(const std::string& operation);
const char* hccl_test_name(Kind kind);

double predict_measurement(const Measurement& measurement, const Fabric& fabric);

struct Calibration {
  Fabric fabric;
  bool intra = false, inter = false;  ///< which levels the measurements say something of
  std::vector<double> predicted;      ///< seconds, of each measurement
};
/// The links, with values of at least 0, whose predictions have the least squares of relative errors. Throws
/// updraft::Error when the measurements are too few.
Calibration calibrate(const std::vector<Measurement>& measurements);

/// The predictions of fits that have not seen what they predict: of each half of the measurements by the other half.
/// Empty where a half is too little to be fitted.
std::vector<double> held_out(const std::vector<Measurement>& measurements);

/// Measured, predicted, error of each; and errors().
std::string residuals(const std::vector<Measurement>& measurements, const std::vector<double>& predicted);
/// "error: median 5 %, …".
std::string errors(const std::vector<Measurement>& measurements, const std::vector<double>& predicted);
/// For --cluster.
nlohmann::json to_json(const Calibration& calibration);

}  // namespace hccl_sim
