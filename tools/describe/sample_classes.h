// What the operators of a file, or those of like names in it, have in common in a call.
#pragma once

/// Patterns of fnmatch for the file under src/ops and for the operator's name. What an operator has no parameter for,
/// or what does not fit the parameter's type, is left out, so that a row serves variants with scalars and with tensors.
struct SampleClass {
  const char *file, *name, *text;
};

// The first row that matches counts.
constexpr SampleClass kSampleClasses[] = {
    {"activation/glu.cpp", "*[dt]",  // …Backward, …SwiGluGrad
     "gradOutput=f32[N,M] self=f32[N,2M] gelu=f32[N,M] gradInput=f32[N,2M] out=f32[N,2M] approximate=1"},
    {"activation/glu.cpp", "*",
     "self=f32[N,2M] input=f32[N,2M] out=f32[N,M] outGelu=f32[N,M] approximate=1 approximate=none"},
    {"activation/*", "*", "weight=f32[M] gradWeight=f32[M] approximate=1 approximate=tanh"},
    {"attention/score.cpp", "aclnnFlashAttentionScore*",
     "query=f16[1,2,N,8] key=f16[1,2,M,8] value=f16[1,2,M,8] dy=f16[1,2,N,8] scaleValue=0.35 keepProb=1 "
     "preTokens=65536 "
     "nextTokens=65536 headNum=2 inputLayout=BNSD innerPrecise=0 sparseMode=0 pseType=1 softmaxMax=f32[1,2,N,8]! "
     "softmaxSum=f32[1,2,N,8]:5..6! softmaxOut=null attentionIn=f16[1,2,N,8] attentionOut=f16[1,2,N,8] dq=f16[1,2,N,8] "
     "dk=f16[1,2,M,8] dv=f16[1,2,M,8] dpse=null dsink=null"},
    {"attention/score.cpp", "aclnnFlashAttentionVarLenScore*",
     "query=f16[6,2,8] key=f16[6,2,8] value=f16[6,2,8] actualSeqQLen=2,6 actualSeqKvLen=3,6 scaleValue=0.35 keepProb=1 "
     "preTokens=65536 nextTokens=65536 headNum=2 inputLayout=TND softmaxLayout=TND innerPrecise=0 sparseMode=0 "
     "pseType=1 "
     "softmaxMax=f32[6,2,8]! softmaxSum=f32[6,2,8]! softmaxOut=null attentionOut=f16[6,2,8]"},
    {"create/*", "*", ""},
    {"elementwise/compare.cpp", "aclnnBitwise*", "self=i32[N,M] other=i32[N,M] other=3 out=i32[N,M]"},
    {"elementwise/compare.cpp", "aclnnInplaceBitwise*", "selfRef=i32[N,M] other=i32[N,M] other=3"},
    {"elementwise/compare.cpp", "*Shift*", "self=i32[N,M] other=i32[N,M] other=2 out=i32[N,M]"},
    {"elementwise/compare.cpp", "aclnnInplace*", "other=0.5"},
    {"elementwise/compare.cpp", "*", "other=0.5 out=bool[N,M]"},
    {"elementwise/unary.cpp", "aclnnIs*", "out=bool[N,M]"},
    {"elementwise/unary.cpp", "*Acosh", "self=f32[N,M]:1.1..3 selfRef=f32[N,M]:1.1..3"},
    {"elementwise/*", "*", ""},
    {"foreach/*", "aclnnForeach*", "scalar=f32[1]:1..2 alpha=f32[1]:1..2 scalars=f32[2]"},
    {"index/triangle.cpp", "*", ""},
    {"loss/nll.cpp", "*2dBackward",
     "gradOutput=f32[2,3,N] self=f32[2,M,3,N] target=i64[2,3,N] weight=f32[M] ignoreIndex=-100 totalWeight=f32[] "
     "out=f32[2,M,3,N]"},
    {"loss/nll.cpp", "*2d",
     "self=f32[2,M,3,N] target=i64[2,3,N] weight=f32[M] ignoreIndex=-100 totalWeight=f32[] out=f32[2,3,N]"},
    {"loss/nll.cpp", "*Backward", "gradOutput=f32[N] target=i64[N] weight=f32[M] ignoreIndex=-100 totalWeight=f32[]"},
    {"loss/nll.cpp", "*", "target=i64[N] weight=f32[M] ignoreIndex=-100 totalWeight=f32[] out=f32[N]"},
    {"loss/pointwise.cpp", "*", ""},
    {"matmul/products.cpp", "*Batch*", "self=f32[2,N,M] mat2=f32[2,M,N] out=f32[2,N,N]"},
    {"matmul/products.cpp", "*Mv", "vec=f32[M] out=f32[N]"},
    {"matmul/products.cpp", "*Dot", "self=f32[M] tensor=f32[M] out=f32[]"},
    {"matmul/products.cpp", "*", "mat2=f32[M,N] out=f32[N,N]"},
    {"matmul/addmm.cpp", "*Baddbmm", "self=f32[2,N,N] batch1=f32[2,N,M] batch2=f32[2,M,N] out=f32[2,N,N]"},
    {"matmul/addmm.cpp", "*Addmv", "self=f32[N] mat=f32[N,M] vec=f32[M] out=f32[N]"},
    {"matmul/addmm.cpp", "*Addr", "vec1=f32[N] vec2=f32[M]"},
    {"matmul/addmm.cpp", "*",
     "self=f32[N,N] selfRef=f32[N,N] mat1=f32[N,M] mat2=f32[M,N] batch1=f32[2,N,M] batch2=f32[2,M,N] out=f32[N,N]"},
    {"norm/softmax.cpp", "*", ""},
    {"norm/layer_norm.cpp", "*",
     "normalizedShape=M weight=f32[M] bias=f32[M] gamma=f32[M] beta=f32[M] mean=f32[N,1] rstd=f32[N,1] "
     "meanOut=f32[N,1] "
     "rstdOut=f32[N,1] gradWeight=f32[M] gradBias=f32[M] dgamma=f32[M] dbeta=f32[M] y2=f16[N,M] additionalOutput=true"},
    {"norm/batch_norm.cpp", "*",
     "input=f32[2,4,8,M] x=f32[2,4,8,M] gradOut=f32[2,4,8,M] output=f32[2,4,8,M] gradInput=f32[2,4,8,M] weight=f32[4] "
     "bias=f32[4] runningMean=f32[4] runningVar=f32[4] saveMean=f32[4] saveInvstd=f32[4] mean=f32[4] invstd=f32[4] "
     "sum=f32[4] squareSum=f32[4] sumDy=f32[4] sumDyXmu=f32[4] gradWeight=f32[4] gradBias=f32[4] inputG=true "
     "weightG=true biasG=true counter=i32[1]:9..10 meanAll=f32[4] invstdAll=f32[4]"},
    {"norm/group_norm.cpp", "*",
     "self=f32[2,4,M] x=f32[2,4,M] dy=f32[2,4,M] gradOut=f32[2,4,M] input=f32[2,4,M] out=f32[2,4,M] y=f32[2,4,M] "
     "gradInput=f32[2,4,M] dxOut=f32[2,4,M] gamma=f32[4] beta=f32[4] N=2 C=4 HxW=M group=2 numGroups=2 mean=f32[2,2] "
     "rstd=f32[2,2] meanOut=f32[2,2] rstdOut=f32[2,2] gradGamma=f32[4] gradBeta=f32[4] dgammaOut=f32[4] "
     "dbetaOut=f32[4] "
     "dataFormat=NCHW activateSwish=true swishScale=1 dgammaIsRequire=true dbetaIsRequire=true"},
    {"pool/avg_pool.cpp", "*Adaptive*2dBackward", "self=f32[2,3,8,2M] gradOutput=f32[2,3,4,M] out=f32[2,3,8,2M]"},
    {"pool/avg_pool.cpp", "*Adaptive*3dBackward", "self=f32[1,2,4,8,2M] gradOutput=f32[1,2,2,4,M] out=f32[1,2,4,8,2M]"},
    {"pool/*", "*Adaptive*2d*",
     "self=f32[2,3,8,2M] gradOutput=f32[2,3,4,M] gradInput=f32[2,3,8,2M] outputSize=4,M out=f32[2,3,4,M] "
     "indices=i64[2,3,4,M]"},
    {"pool/*", "*Adaptive*3d*",
     "self=f32[1,2,4,8,2M] gradOutput=f32[1,2,2,4,M] gradInput=f32[1,2,4,8,2M] outputSize=2,4,M out=f32[1,2,2,4,M] "
     "indices=i32[1,2,2,4,M]"},
    {"pool/*", "*2d*",
     "self=f32[2,3,8,2M] gradOutput=f32[2,3,4,M] gradInput=f32[2,3,8,2M] kernelSize=2,2 stride=2,2 padding=0,0 "
     "dilation=1,1 divisorOverride=0 out=f32[2,3,4,M] indices=i64[2,3,4,M]"},
    {"pool/*", "*3d*",
     "self=f32[1,2,4,8,2M] gradOutput=f32[1,2,2,4,M] gradInput=f32[1,2,4,8,2M] kernelSize=2,2,2 stride=2,2,2 "
     "padding=0,0,0 dilation=1,1,1 divisorOverride=0 out=f32[1,2,2,4,M] indices=i32[1,2,2,4,M]"},
    {"random/distributions.cpp", "*",
     "prob=0.5 mean=0.5 std=2 from=0 to=9 lambda=1 seed=i64[1] offset=i64[1] offsetInGraph=0 count=9"},
    {"reduction/sum.cpp", "aclnnA[ln][ly]", "self=bool[N,M] out=bool[N]"},  // All, Any
    {"reduction/sum.cpp", "aclnnAminmaxAll", "minOut=f32[] maxOut=f32[]"},
    {"reduction/sum.cpp", "aclnnM[ai][xn]", "out=f32[]"},
    {"reduction/sum.cpp", "aclnnProd", "out=f32[]"},
    {"reduction/selection.cpp", "*Median", "out=f32[] valuesOut=f32[]"},
    {"reduction/argument.cpp", "aclnnArg*", "out=i64[N]"},
    {"reduction/scan.cpp", "*", "indicesOut=i64[N,M]"},
    {"reduction/counting.cpp", "*", ""},
    {"reduction/*", "*",
     "out=f32[N] minOut=f32[N] maxOut=f32[N] stdOut=f32[N] varOut=f32[N] meanOut=f32[N] valuesOut=f32[N] "
     "indices=i64[N] indicesOut=i64[N]"},
    {"resize/pad.cpp", "*1dBackward", "gradOutput=f32[2,N,10] self=f32[2,N,6] padding=2,2 gradInput=f32[2,N,6]"},
    {"resize/pad.cpp", "*1d", "self=f32[2,N,6] padding=2,2 out=f32[2,N,10]"},
    {"resize/pad.cpp", "*2dBackward",
     "gradOutput=f32[2,N,9,10] self=f32[2,N,6,6] padding=2,2,2,1 gradInput=f32[2,N,6,6]"},
    {"resize/pad.cpp", "*2d", "self=f32[2,N,6,6] padding=2,2,2,1 out=f32[2,N,9,10]"},
    {"resize/pad.cpp", "*3dBackward",
     "gradOutput=f32[1,N,6,9,10] self=f32[1,N,4,6,6] padding=2,2,2,1,1,1 gradInput=f32[1,N,4,6,6]"},
    {"resize/pad.cpp", "*3d", "self=f32[1,N,4,6,6] padding=2,2,2,1,1,1 out=f32[1,N,6,9,10]"},
    {"resize/upsample.cpp", "*1d*",
     "self=f32[2,N,M] outputSize=2M out=f32[2,N,2M] gradOutput=f32[2,N,2M] inputSize=2,N,M gradInput=f32[2,N,M] "
     "scales=2 "
     "scaleL=2"},
    {"resize/upsample.cpp", "*2d*",
     "self=f32[2,3,4,M] outputSize=8,2M out=f32[2,3,8,2M] gradOutput=f32[2,3,8,2M] inputSize=2,3,4,M "
     "gradInput=f32[2,3,4,M] scalesH=2 scalesW=2 scaleH=2 scaleW=2"},
    {"resize/upsample.cpp", "*3d*",
     "self=f32[1,2,4,8,M] outputSize=8,16,2M out=f32[1,2,8,16,2M] gradOutput=f32[1,2,8,16,2M] inputSize=1,2,4,8,M "
     "gradInput=f32[1,2,4,8,M] scalesD=2 scalesH=2 scalesW=2"},
};
