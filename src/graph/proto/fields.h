// Field numbers of ge.proto messages.
#pragma once
#include <cstdint>

#include <protozero/types.hpp>

namespace updraft::graph::field {

using Tag = protozero::pbf_tag_type;

// ModelDef
inline constexpr Tag kModelName = 1, kModelVersion = 2, kModelCustomVersion = 3, kModelGraph = 7, kModelAttr = 11;
// GraphDef
inline constexpr Tag kGraphName = 1, kGraphInput = 4, kGraphOutput = 5, kGraphOp = 6, kGraphAttr = 11;
// OpDef
inline constexpr Tag kOpName = 1, kOpType = 2, kOpInput = 5, kOpAttr = 10, kOpId = 21, kOpSrcName = 24,
                     kOpSrcIndex = 25, kOpDstName = 26, kOpDstIndex = 27, kOpIsInputConst = 32, kOpInputDesc = 33,
                     kOpOutputDesc = 34, kOpSubgraph = 35;
// TensorDescriptor
inline constexpr Tag kDescName = 1, kDescType = 2, kDescShape = 3, kDescLayout = 4, kDescAttr = 5, kDescSize = 10,
                     kDescWeightSize = 11, kDescDevice = 14, kDescDataOffset = 18;
// ShapeDef, TensorDef, NamedAttrs, entries of maps
inline constexpr Tag kShapeDim = 1, kTensorDesc = 1, kTensorData = 2, kNamedName = 1, kNamedAttr = 2, kKey = 1,
                     kValue = 2;
// AttrDef
inline constexpr Tag kAttrList = 1, kAttrText = 2, kAttrInt = 3, kAttrFloat = 4, kAttrBool = 5, kAttrBytes = 7,
                     kAttrFunction = 10, kAttrDesc = 11, kAttrTensor = 12, kAttrGraph = 13, kAttrIntLists = 14,
                     kAttrType = 15, kAttrFloatLists = 16, kAttrExpression = 17;
// AttrDef.ListValue
inline constexpr Tag kListText = 2, kListInt = 3, kListFloat = 4, kListBool = 5, kListBytes = 7, kListDesc = 8,
                     kListTensor = 9, kListGraph = 10, kListFunction = 11, kListType = 12, kListKind = 20;
/// ListValue.val_type
enum ListKind : int32_t {
  kNone = 0,
  kTexts = 1,
  kInts = 2,
  kFloats = 3,
  kBools = 4,
  kBytesKind = 5,
  kDescs = 6,
  kTensors = 7,
  kGraphs = 8,
  kFunctions = 9,
  kTypes = 10
};
// ListListInt and ListListFloat, and the lists in them
inline constexpr Tag kLists = 1, kListItem = 1;

}  // namespace updraft::graph::field
