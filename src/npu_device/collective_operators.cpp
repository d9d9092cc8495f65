#include "npu_device/collective_operators.h"

#include <initializer_list>
#include <mutex>

#include "npu_device/tf_api.h"

namespace updraft::npu_device {
namespace {

/// Types that HCCL moves, and those that it reduces.
constexpr const char* kMoved =
    "T: {int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, float32, float64, bfloat16}";
constexpr const char* kReduced = "T: {int8, int16, int32, int64, float16, float32, bfloat16}";

void like_inputs(TF_ShapeInferenceContext* context, TF_Status* status) {
  const int64_t inputs = tf().TF_ShapeInferenceContextNumInputs(context);
  for (int i = 0; i < inputs; ++i) {
    TF_ShapeHandle* shape = tf().TF_NewShapeHandle();
    tf().TF_ShapeInferenceContextGetInput(context, i, shape, status);
    if (tf().TF_GetCode(status) == 0) tf().TF_ShapeInferenceContextSetOutput(context, i, shape, status);
    tf().TF_DeleteShapeHandle(shape);
  }
}
void not_known(TF_ShapeInferenceContext* context, TF_Status* status) {
  tf().TF_ShapeInferenceContextSetUnknownShape(context, status);
}
void nothing(TF_ShapeInferenceContext*, TF_Status*) {}

struct Definition {
  const char* name;
  std::initializer_list<const char*> inputs, outputs, attributes;
  void (*shape)(TF_ShapeInferenceContext*, TF_Status*);
};

}  // namespace

void register_collectives() {
  static std::once_flag once;
  std::call_once(once, [] {
    const Definition definitions[] = {
        {"HcomAllReduce",
         {"x: T"},
         {"y: T"},
         {kReduced, "reduction: string", "group: string", "fusion: int = 1", "fusion_id: int = -1"},
         like_inputs},
        {"HcomReduce",
         {"x: T"},
         {"y: T"},
         {kReduced, "root_rank: int", "reduction: string", "group: string", "fusion: int = 0", "fusion_id: int = -1"},
         like_inputs},
        {"HcomBroadcast",
         {"x: T"},
         {"y: T"},
         {"T: list(type) >= 1", "root_rank: int", "group: string", "fusion: int = 0", "fusion_id: int = -1"},
         like_inputs},
        {"HcomAllGather", {"x: T"}, {"y: T"}, {kMoved, "rank_size: int", "group: string"}, not_known},
        {"HcomReduceScatter",
         {"x: T"},
         {"y: T"},
         {kReduced, "reduction: string", "rank_size: int", "group: string"},
         not_known},
        {"HcomSend", {"x: T"}, {}, {kMoved, "group: string", "sr_tag: int", "dest_rank: int"}, nothing},
        {"HcomReceive",
         {},
         {"y: T"},
         {kMoved, "shape: list(int)", "group: string", "sr_tag: int", "src_rank: int"},
         not_known},
        {"HcomAllToAllV",
         {"send_data: T", "send_counts: int64", "send_displacements: int64", "recv_counts: int64",
          "recv_displacements: int64"},
         {"recv_data: T"},
         {kMoved, "group: string"},
         not_known},
    };
    for (const Definition& d : definitions) {
      TF_OpDefinitionBuilder* builder = tf().TF_NewOpDefinitionBuilder(d.name);
      for (const char* text : d.attributes) tf().TF_OpDefinitionBuilderAddAttr(builder, text);
      for (const char* text : d.inputs) tf().TF_OpDefinitionBuilderAddInput(builder, text);
      for (const char* text : d.outputs) tf().TF_OpDefinitionBuilderAddOutput(builder, text);
      // Every rank has to call them, in the same order: none is left out, and none is done twice.
      tf().TF_OpDefinitionBuilderSetIsStateful(builder, true);
      tf().TF_OpDefinitionBuilderSetShapeInferenceFunction(builder, d.shape);
      const Status status;
      tf().TF_RegisterOpDefinition(builder, status);  // which takes the builder over
      status.check();
    }
  });
}

}  // namespace updraft::npu_device
