// Inference of every operator that has a sample (tools/describe/sample.h): shapes and types of the outputs are those of
// the sample, which an eager call accepts (tests/ops/test_samples.py). tests/ops/uninferred.txt lists the exceptions;
// it may only shrink.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "../../tools/describe/sample.h"
#include "ops/call.h"

namespace updraft {
namespace {

constexpr int64_t kN = 4, kM = 6;

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) parts.push_back(part);
  return parts;
}

int64_t integer(std::string text) {
  int64_t factor = 1;
  if (!text.empty() && (text.back() == 'N' || text.back() == 'M')) {
    factor = text.back() == 'N' ? kN : kM;
    text.pop_back();
  }
  if (text.empty() || text == "-") text += "1";
  return std::stoll(text) * factor;
}

DType type_of(const std::string& text) {
  static const std::map<std::string, DType> types{
      {"f16", DType::Float16}, {"bf16", DType::BFloat16}, {"f32", DType::Float},     {"f64", DType::Double},
      {"i8", DType::Int8},     {"i16", DType::Int16},     {"i32", DType::Int32},     {"i64", DType::Int64},
      {"u8", DType::UInt8},    {"bool", DType::Bool},     {"c64", DType::Complex64}, {"c128", DType::Complex128}};
  return types.at(text);
}

/// f32[N,2M]:0..1! as a tensor; `open`: sizes with N or M are unknown.
CallTensor tensor_of(const std::string& text, bool open) {
  const size_t from = text.find('['), to = text.find(']');
  CallTensor tensor;
  tensor.dtype = type_of(text.substr(0, from));
  for (const std::string& size : split(text.substr(from + 1, to - from - 1), ','))
    tensor.dims.push_back(open && size.find_first_of("NM") != std::string::npos ? -1 : integer(size));
  return tensor;
}

double real(const std::string& text) { return text == "true" ? 1 : text == "false" ? 0 : std::stod(text); }
bool is_integer(const std::string& text) { return text.find_first_not_of("-0123456789") == std::string::npos; }

using Wanted = std::vector<std::pair<std::string, std::vector<CallTensor>>>;

/// Gives the call what the sample says; outputs are asked for, what they should become is in the result.
Wanted give(OpCall& call, const Sample& sample, bool open) {
  Wanted wanted;
  for (size_t i = 0; i < sample.values.size(); ++i) {
    const auto& [name, text] = sample.values[i];
    const Parameter& p = call.info().parameters[i];
    if (text == "null") continue;
    switch (p.kind) {
      case Kind::Tensor:
      case Kind::Tensors: {
        if (text == "[]") {
          call.set_empty(name);
          break;
        }
        std::vector<CallTensor> outputs;
        for (const std::string& one : p.kind == Kind::Tensor ? std::vector<std::string>{text} : split(text, ';')) {
          if (one == "null") {
            call.add_absent(name);
          } else if (p.direction == Direction::Out) {
            call.ask(name);
            outputs.push_back(tensor_of(one, false));
          } else {
            call.add_tensor(name, tensor_of(one, open));
          }
        }
        if (p.direction == Direction::Out) wanted.emplace_back(name, outputs);
        break;
      }
      case Kind::Ints: {
        std::vector<int64_t> values;
        if (text != "[]")
          for (const std::string& one : split(text, ',')) values.push_back(integer(one));
        call.set(name, values);
        break;
      }
      case Kind::Bools: {
        std::vector<int64_t> values;
        for (const std::string& one : split(text, ',')) values.push_back(one == "true");
        call.set(name, values);
        break;
      }
      case Kind::Scalars:
      case Kind::Floats: {
        std::vector<double> values;
        for (const std::string& one : split(text, ',')) values.push_back(real(one));
        call.set(name, values);
        break;
      }
      case Kind::Text: call.set(name, text); break;
      case Kind::Type: call.set(name, static_cast<int64_t>(type_of(text))); break;
      case Kind::Scalar:
        if (text == "true" || text == "false") call.set(name, text == "true");
        else if (is_integer(text)) call.set(name, integer(text));
        else call.set(name, real(text));
        break;
      case Kind::Bool: call.set(name, text == "true"); break;
      case Kind::Double:
      case Kind::Float: call.set(name, real(text)); break;
      default: call.set(name, integer(text)); break;
    }
  }
  return wanted;
}

std::string text_of(const Shape& shape) {
  std::string text = std::string(name_of(shape.dtype)) + "[";
  for (const Dim& d : shape.dims) {
    if (text.back() != '[') text += ",";
    text += std::to_string(d.low);
    if (!d.known()) text += ".." + (d.high < 0 ? "" : std::to_string(d.high));
  }
  return text + "]";
}

/// Why inference does not give what the sample says; empty when it does.
std::string difference(const OpInfo& info, const Sample& sample, bool open) {
  OpCall call(info);
  const Wanted wanted = give(call, sample, open);
  if (wanted.empty()) return "";
  try {
    call.infer();
  } catch (const Error& e) { return e.text(); }
  for (const auto& [name, tensors] : wanted)
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Shape got = call.shape(name, i);
      const CallTensor& want = tensors[i];
      bool same = got.dtype == want.dtype && got.dims.size() == want.dims.size();
      for (size_t d = 0; same && d < want.dims.size(); ++d)
        same = got.dims[d].low <= want.dims[d] && (got.dims[d].high < 0 || got.dims[d].high >= want.dims[d]) &&
               (open || got.dims[d].known());
      if (same) continue;
      Shape expected{want.dtype, {want.dims.begin(), want.dims.end()}};
      return fmt::format("{}[{}] is {}, the sample has {}", name, i, text_of(got), text_of(expected));
    }
  return "";
}

std::set<std::string> exceptions() {
  std::ifstream file(UPDRAFT_TEST_SOURCES "/tests/ops/uninferred.txt");
  EXPECT_TRUE(file.is_open());
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') names.insert(line.substr(0, line.find(' ')));
  return names;
}

void check(bool open) {
  const std::set<std::string> listed = exceptions();
  int seen = 0;
  for (const OpInfo* op = first_op(); op; op = op->next) {
    const auto sample = sample_of(*op);
    if (!sample) continue;
    ++seen;
    const std::string why = difference(*op, *sample, open);
    if (!listed.contains(op->name)) {
      EXPECT_EQ(why, "") << op->name;
    } else if (!open) {
      EXPECT_NE(why, "") << op->name << " is inferred: remove it from uninferred.txt";
    }
  }
  EXPECT_GT(seen, 400);
}

TEST(InferSamples, ShapesAndTypesAreThoseOfTheSample) { check(false); }
TEST(InferSamples, UnknownSizesContainThoseOfTheSample) { check(true); }

/// Forms that the samples do not have: what changes, and what the results are then.
TEST(InferSamples, OtherForms) {
  struct Form {
    const char *op, *changes;
    bool open = false;
  };
  const Form forms[] = {
      {"aclnnGroupedMatmulV4", "x=f16[10,M] weight=f16[2,M,5] groupListOptional=i64[2] groupType=0 out=f16[10,5]"},
      {"aclnnGroupedMatmulV4", "x=f32[4,M];f32[3,M] out=f32[7,5]"},
      {"aclnnGroupedMatmulV4",
       "x=f32[10,7] weight=f32[2,7,5] groupListOptional=i64[2] groupType=0 out=f32[3,5];f32[7,5]", true},
      {"aclnnGroupedMatmulV5", "x=f32[4,M] weight=f32[M,5] groupListOptional=i64[2] groupType=2 out=f32[2,4,5]"},
      {"aclnnGroupedMatmulV5",
       "x=i8[10,16] weight=i8[2,16,5] scaleOptional=bf16[2,5] perTokenScaleOptional=f32[10] "
       "groupListOptional=i64[2] groupType=0 out=bf16[10,5]"},
      {"aclnnMoeInitRoutingV3",
       "scaleOptional=f32[1,M] expertCapacity=3 dropPadMode=1 quantMode=1 expertTokensNumType=2 "
       "expandedXOut=i8[4,3,M] expertTokensCountOrCumsumOut=i64[4,2] expandedScaleOut=f32[12]"},
      {"aclnnMoeInitRoutingV3",
       "activeNum=5 activeExpertRangeOptional=1,3 expandedXOut=f32[5,M] expertTokensCountOrCumsumOut=i64[2] "
       "expandedScaleOut=f32[5]"},
      {"aclnnMoeFinalizeRouting", "bias=null scales=null expandedRowIdx=i32[6] skip1=null out=f32[6,M]"},
      {"aclnnFusedInferAttentionScoreV3",
       "inputLayout=BNSD_BSND softmaxLseFlag=false attentionOut=f32[2,3,4,M] softmaxLse=f32[0]"},
      {"aclnnIncreFlashAttentionV4",
       "key=f32[8,4,12] value=f32[8,4,12] actualSeqLengths=5,3 blockTable=i32[2,3] blockSize=4"},
      {"aclnnFFNV2",
       "x=i8[6,M]! weight1=i8[2,M,8] weight2=i8[2,8,M] bias1Optional=null bias2Optional=null scaleOptional=f32[2] "
       "deqScale1Optional=f32[2,8] deqScale2Optional=f32[2,M] y=f16[6,M]!"},
      {"aclnnTransQuantParamV2", "scale=f32[1] offset=f32[M]"},
  };
  for (const Form& form : forms) {
    const OpInfo* op = find_op(form.op);
    ASSERT_NE(op, nullptr) << form.op;
    auto sample = sample_of(*op);
    ASSERT_TRUE(sample.has_value()) << form.op;
    for (const std::string& change : split(form.changes, ' ')) {
      const size_t equals = change.find('=');
      int found = 0;
      for (auto& [name, text] : sample->values)
        if (name == change.substr(0, equals)) {
          text = change.substr(equals + 1);
          ++found;
        }
      EXPECT_EQ(found, 1) << form.op << " has no " << change;
    }
    EXPECT_EQ(difference(*op, *sample, form.open), "") << form.op << " " << form.changes;
  }
}

/// Wrong shapes are refused with the words of the call.
TEST(InferSamples, RefusesWhatACallRefuses) {
  int refused = 0, same = 0;
  for (const OpInfo* op = first_op(); op; op = op->next) {
    const auto sample = sample_of(*op);
    if (!sample) continue;
    for (size_t i = 0; i < op->parameters.size(); ++i) {
      const Parameter& p = op->parameters[i];
      if (p.kind != Kind::Tensor || p.direction == Direction::Out || sample->values[i].second == "null") continue;
      for (const int change : {0, 1}) {
        auto text = [&](bool asked) -> std::string {
          OpCall call(*op);
          const Wanted wanted = give(call, *sample, false);
          CallTensor tensor = call.tensors(p.name)[0];
          if (change == 0) tensor.dims.insert(tensor.dims.begin(), 5);
          else if (!tensor.dims.empty()) tensor.dims.back() += 1;
          call.add_tensor(p.name, tensor);
          if (!asked)
            for (const auto& [name, outputs] : wanted) {
              if (find_parameter(*op, name)->kind == Kind::Tensors) call.set_empty(name);
              for (const CallTensor& output : outputs) call.add_tensor(name, output);
            }
          try {
            if (asked) call.infer();
            else call.plan();
          } catch (const Error& e) { return fmt::format("{} {}", e.code(), e.text()); }
          return "";
        };
        const std::string inferred = text(true), planned = text(false);
        // A call may refuse its outputs where inference makes others; what inference refuses, a call refuses.
        if (inferred.empty() || inferred.starts_with("561003")) continue;
        ++refused;
        same += inferred == planned;
        EXPECT_NE(planned, "") << op->name << " plans what it does not infer, with another " << p.name << ": "
                               << inferred;
        if (!planned.empty()) { EXPECT_EQ(inferred.substr(0, 6), planned.substr(0, 6)) << op->name; }
      }
    }
  }
  EXPECT_GT(refused, 200);
  EXPECT_GT(same, refused / 2) << "most refusals are about inputs, and have the words of the call";
}

}  // namespace
}  // namespace updraft
