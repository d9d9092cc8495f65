// What operators have in common in a call.
#pragma once

/// Operators by name, without "aclnn", and what their parameters are in a sample call. What an operator has no
/// parameter for, or what does not fit the parameter's type, is left out, so that a row serves variants with scalars
/// and with tensors. An operator without a row has the usual values (sample.cpp).
struct SampleClass {
  const char *names, *text;
};

constexpr SampleClass kSampleClasses[] = {
    {"GeGluV3Backward GluBackward SwiGluGrad",
     "gradOutput=f32[N,M] self=f32[N,2M] gelu=f32[N,M] gradInput=f32[N,2M] out=f32[N,2M] approximate=1"},
    {"GeGluV3 GeluMul Glu SwiGlu",
     "self=f32[N,2M] input=f32[N,2M] out=f32[N,M] outGelu=f32[N,M] approximate=1 approximate=none"},
    {"GeluBackwardV2 GeluV2 Prelu PreluBackward", "weight=f32[M] gradWeight=f32[M] approximate=1 approximate=tanh"},
    {"FlashAttentionScore FlashAttentionScoreGrad FlashAttentionScoreGradV2 FlashAttentionScoreGradV3 "
     "FlashAttentionScoreV2 FlashAttentionScoreV3",
     "query=f16[1,2,N,8] key=f16[1,2,M,8] value=f16[1,2,M,8] dy=f16[1,2,N,8] scaleValue=0.35 keepProb=1 "
     "preTokens=65536 nextTokens=65536 headNum=2 inputLayout=BNSD innerPrecise=0 sparseMode=0 pseType=1 "
     "softmaxMax=f32[1,2,N,8]! softmaxSum=f32[1,2,N,8]:5..6! softmaxOut=null attentionIn=f16[1,2,N,8] "
     "attentionOut=f16[1,2,N,8] dq=f16[1,2,N,8] dk=f16[1,2,M,8] dv=f16[1,2,M,8] dpse=null dsink=null"},
    {"FlashAttentionVarLenScore FlashAttentionVarLenScoreV2 FlashAttentionVarLenScoreV4 FlashAttentionVarLenScoreV5",
     "query=f16[6,2,8] key=f16[6,2,8] value=f16[6,2,8] actualSeqQLen=2,6 actualSeqKvLen=3,6 scaleValue=0.35 "
     "keepProb=1 preTokens=65536 nextTokens=65536 headNum=2 inputLayout=TND softmaxLayout=TND innerPrecise=0 "
     "sparseMode=0 pseType=1 softmaxMax=f32[6,2,8]! softmaxSum=f32[6,2,8]! softmaxOut=null attentionOut=f16[6,2,8]"},
    {"BitwiseAndScalar BitwiseAndTensor BitwiseNot BitwiseOrScalar BitwiseOrTensor BitwiseXorScalar "
     "BitwiseXorTensor",
     "self=i32[N,M] other=i32[N,M] other=3 out=i32[N,M]"},
    {"InplaceBitwiseAndScalar InplaceBitwiseAndTensor InplaceBitwiseOrScalar InplaceBitwiseOrTensor "
     "InplaceBitwiseXorScalar InplaceBitwiseXorTensor",
     "selfRef=i32[N,M] other=i32[N,M] other=3"},
    {"LeftShift LeftShifts RightShift", "self=i32[N,M] other=i32[N,M] other=2 out=i32[N,M]"},
    {"InplaceEqScalar InplaceEqTensor InplaceGeScalar InplaceGeTensor InplaceGtScalar InplaceGtTensor "
     "InplaceLeScalar InplaceLeTensor InplaceLogicalAnd InplaceLogicalOr InplaceLtScalar InplaceLtTensor "
     "InplaceNeScalar InplaceNeTensor",
     "other=0.5"},
    {"EqScalar EqTensor GeScalar GeTensor GtScalar GtTensor IsClose IsInTensorScalar LeScalar LeTensor LessScalar "
     "LogicalAnd LogicalNot LogicalOr LogicalXor LtScalar LtTensor NeScalar NeTensor",
     "other=0.5 out=bool[N,M]"},
    {"IsFinite IsNegInf IsPosInf", "out=bool[N,M]"},
    {"Acosh InplaceAcosh", "self=f32[N,M]:1.1..3 selfRef=f32[N,M]:1.1..3"},
    {"ForeachAddList ForeachAddListV2 ForeachAddScalar ForeachAddScalarList ForeachAddScalarV2 ForeachAddcdivScalar "
     "ForeachAddcdivScalarList ForeachAddcdivScalarV2 ForeachAddcmulScalar ForeachAddcmulScalarList "
     "ForeachAddcmulScalarV2 ForeachDivScalar ForeachDivScalarList ForeachDivScalarV2 ForeachMaximumScalar "
     "ForeachMaximumScalarList ForeachMaximumScalarV2 ForeachMinimumScalar ForeachMinimumScalarList "
     "ForeachMinimumScalarV2 ForeachMulScalar ForeachMulScalarList ForeachMulScalarV2 ForeachPowScalar "
     "ForeachPowScalarAndTensor ForeachPowScalarList ForeachSubList ForeachSubListV2 ForeachSubScalar "
     "ForeachSubScalarList ForeachSubScalarV2",
     "scalar=f32[1]:1..2 alpha=f32[1]:1..2 scalars=f32[2]"},
    {"NLLLoss2dBackward",
     "gradOutput=f32[2,3,N] self=f32[2,M,3,N] target=i64[2,3,N] weight=f32[M] ignoreIndex=-100 totalWeight=f32[] "
     "out=f32[2,M,3,N]"},
    {"NLLLoss2d",
     "self=f32[2,M,3,N] target=i64[2,3,N] weight=f32[M] ignoreIndex=-100 totalWeight=f32[] out=f32[2,3,N]"},
    {"NLLLossBackward", "gradOutput=f32[N] target=i64[N] weight=f32[M] ignoreIndex=-100 totalWeight=f32[]"},
    {"NLLLoss", "target=i64[N] weight=f32[M] ignoreIndex=-100 totalWeight=f32[] out=f32[N]"},
    {"BatchMatMul BatchMatMulWeightNz", "self=f32[2,N,M] mat2=f32[2,M,N] out=f32[2,N,N]"},
    {"Mv", "vec=f32[M] out=f32[N]"},
    {"Dot", "self=f32[M] tensor=f32[M] out=f32[]"},
    {"Matmul MatmulWeightNz Mm", "mat2=f32[M,N] out=f32[N,N]"},
    {"Baddbmm", "self=f32[2,N,N] batch1=f32[2,N,M] batch2=f32[2,M,N] out=f32[2,N,N]"},
    {"Addmv", "self=f32[N] mat=f32[N,M] vec=f32[M] out=f32[N]"},
    {"Addr InplaceAddr", "vec1=f32[N] vec2=f32[M]"},
    {"Addbmm Addmm AddmmWeightNz InplaceAddmm",
     "self=f32[N,N] selfRef=f32[N,N] mat1=f32[N,M] mat2=f32[M,N] batch1=f32[2,N,M] batch2=f32[2,M,N] out=f32[N,N]"},
    {"AddLayerNorm AddLayerNormGrad AddRmsNorm AddRmsNormCast DeepNorm DeepNormGrad FastLayerNorm GemmaRmsNorm "
     "InplaceAddRmsNorm LayerNorm LayerNormBackward RmsNorm RmsNormGrad",
     "normalizedShape=M weight=f32[M] bias=f32[M] gamma=f32[M] beta=f32[M] mean=f32[N,1] rstd=f32[N,1] "
     "meanOut=f32[N,1] rstdOut=f32[N,1] gradWeight=f32[M] gradBias=f32[M] dgamma=f32[M] dbeta=f32[M] "
     "additionalOutput=true"},
    {"BatchNorm BatchNormBackward BatchNormElemt BatchNormElemtBackward BatchNormGatherStatsWithCounts "
     "BatchNormReduce BatchNormReduceBackward BatchNormStats SyncBatchNormGatherStats",
     "input=f32[2,4,8,M] x=f32[2,4,8,M] gradOut=f32[2,4,8,M] output=f32[2,4,8,M] gradInput=f32[2,4,8,M] "
     "weight=f32[4] bias=f32[4] runningMean=f32[4] runningVar=f32[4] saveMean=f32[4] saveInvstd=f32[4] mean=f32[4] "
     "invstd=f32[4] sum=f32[4] squareSum=f32[4] sumDy=f32[4] sumDyXmu=f32[4] gradWeight=f32[4] gradBias=f32[4] "
     "inputG=true weightG=true biasG=true counter=i32[1]:9..10 meanAll=f32[4] invstdAll=f32[4]"},
    {"GroupNorm GroupNormBackward GroupNormSilu GroupNormSwish GroupNormSwishGrad",
     "self=f32[2,4,M] x=f32[2,4,M] dy=f32[2,4,M] gradOut=f32[2,4,M] input=f32[2,4,M] out=f32[2,4,M] y=f32[2,4,M] "
     "gradInput=f32[2,4,M] dxOut=f32[2,4,M] gamma=f32[4] beta=f32[4] N=2 C=4 HxW=M group=2 numGroups=2 "
     "mean=f32[2,2] rstd=f32[2,2] meanOut=f32[2,2] rstdOut=f32[2,2] gradGamma=f32[4] gradBeta=f32[4] "
     "dgammaOut=f32[4] dbetaOut=f32[4] dataFormat=NCHW activateSwish=true swishScale=1 dgammaIsRequire=true "
     "dbetaIsRequire=true"},
    {"AdaptiveAvgPool2dBackward", "self=f32[2,3,8,2M] gradOutput=f32[2,3,4,M] out=f32[2,3,8,2M]"},
    {"AdaptiveAvgPool3dBackward", "self=f32[1,2,4,8,2M] gradOutput=f32[1,2,2,4,M] out=f32[1,2,4,8,2M]"},
    {"AdaptiveAvgPool2d AdaptiveMaxPool2d AdaptiveMaxPool2dBackward",
     "self=f32[2,3,8,2M] gradOutput=f32[2,3,4,M] gradInput=f32[2,3,8,2M] outputSize=4,M out=f32[2,3,4,M] "
     "indices=i64[2,3,4,M]"},
    {"AdaptiveAvgPool3d AdaptiveMaxPool3d AdaptiveMaxPool3dBackward",
     "self=f32[1,2,4,8,2M] gradOutput=f32[1,2,2,4,M] gradInput=f32[1,2,4,8,2M] outputSize=2,4,M out=f32[1,2,2,4,M] "
     "indices=i32[1,2,2,4,M]"},
    {"AvgPool2d AvgPool2dBackward MaxPool2dWithIndices MaxPool2dWithIndicesBackward MaxPool2dWithMask "
     "MaxPool2dWithMaskBackward",
     "self=f32[2,3,8,2M] gradOutput=f32[2,3,4,M] gradInput=f32[2,3,8,2M] kernelSize=2,2 stride=2,2 padding=0,0 "
     "dilation=1,1 divisorOverride=0 out=f32[2,3,4,M] indices=i64[2,3,4,M]"},
    {"AvgPool3d AvgPool3dBackward MaxPool3dWithArgmax MaxPool3dWithArgmaxBackward",
     "self=f32[1,2,4,8,2M] gradOutput=f32[1,2,2,4,M] gradInput=f32[1,2,4,8,2M] kernelSize=2,2,2 stride=2,2,2 "
     "padding=0,0,0 dilation=1,1,1 divisorOverride=0 out=f32[1,2,2,4,M] indices=i32[1,2,2,4,M]"},
    {"InplaceBernoulli InplaceBernoulliTensor InplaceNormal InplaceNormalTensor InplaceRandom InplaceRandomTensor "
     "InplaceRandomWithoutFromTo InplaceRandomWithoutFromToTensor InplaceUniform InplaceUniformTensor "
     "NormalFloatFloat NormalFloatTensor NormalTensorFloat NormalTensorTensor SimThreadExponential",
     "prob=0.5 mean=0.5 std=2 from=0 to=9 lambda=1 seed=i64[1] offset=i64[1] offsetInGraph=0 count=9"},
    {"All Any", "self=bool[N,M] out=bool[N]"},
    {"AminmaxAll", "minOut=f32[] maxOut=f32[]"},
    {"Max Min Prod", "out=f32[]"},
    {"Median NanMedian", "out=f32[] valuesOut=f32[]"},
    {"ArgMax ArgMin", "out=i64[N]"},
    {"Cummax Cummin", "indicesOut=i64[N,M]"},
    {"Amax Amin Aminmax AminmaxDim Kthvalue LinalgVectorNorm LogSumExp MaxDim Mean MedianDim MinDim NanMedianDim "
     "Norm ProdDim ReduceNansum ReduceSum Std StdMeanCorrection VarCorrection VarMean",
     "out=f32[N] minOut=f32[N] maxOut=f32[N] stdOut=f32[N] varOut=f32[N] meanOut=f32[N] valuesOut=f32[N] "
     "indices=i64[N] indicesOut=i64[N]"},
    {"ReflectionPad1dBackward ReplicationPad1dBackward",
     "gradOutput=f32[2,N,10] self=f32[2,N,6] padding=2,2 gradInput=f32[2,N,6]"},
    {"ReflectionPad1d ReplicationPad1d", "self=f32[2,N,6] padding=2,2 out=f32[2,N,10]"},
    {"ReflectionPad2dBackward ReplicationPad2dBackward",
     "gradOutput=f32[2,N,9,10] self=f32[2,N,6,6] padding=2,2,2,1 gradInput=f32[2,N,6,6]"},
    {"ReflectionPad2d ReplicationPad2d", "self=f32[2,N,6,6] padding=2,2,2,1 out=f32[2,N,9,10]"},
    {"ReflectionPad3dBackward ReplicationPad3dBackward",
     "gradOutput=f32[1,N,6,9,10] self=f32[1,N,4,6,6] padding=2,2,2,1,1,1 gradInput=f32[1,N,4,6,6]"},
    {"ReflectionPad3d ReplicationPad3d", "self=f32[1,N,4,6,6] padding=2,2,2,1,1,1 out=f32[1,N,6,9,10]"},
    {"UpsampleLinear1d UpsampleLinear1dBackward UpsampleNearest1d UpsampleNearest1dBackward UpsampleNearest1dV2 "
     "UpsampleNearestExact1d UpsampleNearestExact1dBackward",
     "self=f32[2,N,M] outputSize=2M out=f32[2,N,2M] gradOutput=f32[2,N,2M] inputSize=2,N,M gradInput=f32[2,N,M] "
     "scales=2 scaleL=2"},
    {"UpsampleBicubic2d UpsampleBicubic2dAA UpsampleBicubic2dAAGrad UpsampleBicubic2dBackward UpsampleBilinear2d "
     "UpsampleBilinear2dAA UpsampleBilinear2dAABackward UpsampleBilinear2dBackward UpsampleBilinear2dBackwardV2 "
     "UpsampleNearest2d UpsampleNearest2dBackward UpsampleNearest2dV2 UpsampleNearestExact2d "
     "UpsampleNearestExact2dBackward",
     "self=f32[2,3,4,M] outputSize=8,2M out=f32[2,3,8,2M] gradOutput=f32[2,3,8,2M] inputSize=2,3,4,M "
     "gradInput=f32[2,3,4,M] scalesH=2 scalesW=2 scaleH=2 scaleW=2"},
    {"UpsampleNearest3d UpsampleNearest3dBackward UpsampleNearestExact3d UpsampleNearestExact3dBackward "
     "UpsampleTrilinear3d UpsampleTrilinear3dBackward",
     "self=f32[1,2,4,8,M] outputSize=8,16,2M out=f32[1,2,8,16,2M] gradOutput=f32[1,2,8,16,2M] inputSize=1,2,4,8,M "
     "gradInput=f32[1,2,4,8,M] scalesD=2 scalesH=2 scalesW=2"},
};

/// Operators for which nobody has described a call yet: the usual values do not suit them.
constexpr const char kUnsampled[] =
    "AllGatherMatmul AllGatherMatmulV2 MatmulAllReduce MatmulAllReduceV2 MatmulAllReduceV3 MatmulReduceScatter "
    "MatmulReduceScatterV2 QuantMatmulAllReduce QuantMatmulAllReduceV2 WeightQuantMatmulAllReduce "
    "AlltoAllMatmul AlltoAllMatmulV2 AlltoAllvGroupedMatMul AlltoAllvGroupedMatMulV2 GroupedMatMulAlltoAllv "
    "GroupedMatMulAlltoAllvV2 MatmulAlltoAll MatmulAlltoAllV2 "
    "DistributeBarrier DistributeBarrierV2 MoeDistributeCombine MoeDistributeCombineAddRmsNorm "
    "MoeDistributeCombineAddRmsNormV2 MoeDistributeCombineV2 MoeDistributeCombineV3 MoeDistributeCombineV4 "
    "MoeDistributeDispatch MoeDistributeDispatchV2 MoeDistributeDispatchV3 "
    "MoeDistributeDispatchV4 "                                    // a group of ranks
    "AttentionWorkerCombine FfnWorkerBatching "                   // their contexts hold addresses
    "KvQuantSparseFlashAttention KvQuantSparseFlashAttentionV2 "  // their bytes hold scales
    "ChunkCat CtcLossBackward EmbeddingBag FlashAttentionUnpaddingScoreGrad FlashAttentionUnpaddingScoreGradV2 "
    "FlashAttentionUnpaddingScoreGradV4 FlashAttentionUnpaddingScoreGradV5 GRUBackward LinalgQr LstmBackward "
    "MaskedSelect Nonzero NonzeroV2 ScatterList Sleep Svd Unique Unique2 UniqueConsecutive UniqueDim";
