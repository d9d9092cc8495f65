// acl.mdl: offline models, their descriptions, data sets and gears.
#include "binding.h"

namespace pyacl {
namespace {

constexpr size_t kMostGears = 1 << 12;  // a model has at most 100

aclError set_dynamic_dims(uint32_t model_id, aclmdlDataset* dataset, size_t index, const aclmdlIODims& dims) {
  return aclmdlSetInputDynamicDims(model_id, dataset, index, &dims);
}
aclError dynamic_dims(const aclmdlDesc* desc, size_t index, size_t gear_count, List<aclmdlIODims>* dims) {
  if (gear_count > kMostGears) return ACL_ERROR_INVALID_PARAM;
  dims->values.resize(gear_count);
  const aclError code = aclmdlGetInputDynamicDims(desc, index, dims->data(), gear_count);
  if (code) dims->values.clear();
  return code;
}

/// C gives the code, Python has always had the data set before it.
aclError add_buffer(aclmdlDataset* dataset, aclDataBuffer* buffer, aclmdlDataset** same) {
  *same = dataset;
  return aclmdlAddDatasetBuffer(dataset, buffer);
}
aclError set_tensor_desc(aclmdlDataset* dataset, aclTensorDesc* desc, size_t index, aclmdlDataset** same) {
  *same = dataset;
  return aclmdlSetDatasetTensorDesc(dataset, desc, index);
}

/// The attribute's name says what the value is: …_INT32, …_SIZET, or a pointer.
aclError set_config(aclmdlConfigHandle* handle, aclmdlConfigAttr attr, Any given) {
  const Given value{given.object, "acl.mdl", "set_config_opt", "value"};
  if (attr == ACL_MDL_PRIORITY_INT32 || attr == ACL_MDL_WITHOUT_GRAPH_INT32) {
    int32_t number = 0;
    return read(value, number) ? aclmdlSetConfigOpt(handle, attr, &number, sizeof number) : ACL_ERROR_INVALID_PARAM;
  }
  if (PyUnicode_Check(given.object)) {  // ACL_MDL_PATH_PTR, ACL_MDL_WEIGHT_PATH_PTR
    const char* path = nullptr;
    return read(value, path) ? aclmdlSetConfigOpt(handle, attr, &path, sizeof path) : ACL_ERROR_INVALID_PARAM;
  }
  size_t number = 0;
  return read(value, number) ? aclmdlSetConfigOpt(handle, attr, &number, sizeof number) : ACL_ERROR_INVALID_PARAM;
}

aclError load_with_mem(const char* path, void* work, size_t work_size, void* weight, size_t weight_size, uint32_t* id) {
  return aclmdlLoadFromFileWithMem(path, id, work, work_size, weight, weight_size);
}
aclError load_memory_with_mem(const void* model, size_t size, void* work, size_t work_size, void* weight,
                              size_t weight_size, uint32_t* id) {
  return aclmdlLoadFromMemWithMem(model, size, id, work, work_size, weight, weight_size);
}

constexpr Row kRows[] = {
    WAIT("load_from_file", aclmdlLoadFromFile, "path -> model_id"),
    WAIT("load_from_mem", aclmdlLoadFromMem, "model, size -> model_id"),
    WAIT_AS("load_from_file_with_mem", "aclmdlLoadFromFileWithMem", load_with_mem,
            "path, work, work_size, weight, weight_size -> model_id"),
    WAIT_AS("load_from_mem_with_mem", "aclmdlLoadFromMemWithMem", load_memory_with_mem,
            "model, size, work, work_size, weight, weight_size -> model_id"),
    WAIT("unload", aclmdlUnload, "model_id"),
    WAIT("query_size", aclmdlQuerySize, "path -> work_size, weight_size"),
    WAIT("query_size_from_mem", aclmdlQuerySizeFromMem, "model, size -> work_size, weight_size"),
    WAIT("query_exeom_desc", aclmdlQueryExeOMDesc, "path -> desc"),
    CALL("create_config_handle", aclmdlCreateConfigHandle, "-> handle"),
    CALL("destroy_config_handle", aclmdlDestroyConfigHandle, "handle"),
    CALL_AS("set_config_opt", "aclmdlSetConfigOpt", set_config, "handle, attr, value"),
    WAIT("load_with_config", aclmdlLoadWithConfig, "handle -> model_id"),

    CALL("set_external_weight_address", aclmdlSetExternalWeightAddress, "handle, file_name, dev_ptr, size"),
    WAIT("bundle_load_from_file", aclmdlBundleLoadFromFile, "path -> bundle_id"),
    WAIT("bundle_load_from_mem", aclmdlBundleLoadFromMem, "model, size -> bundle_id"),
    WAIT("bundle_init_from_file", aclmdlBundleInitFromFile, "path, var_weight, var_weight_size -> bundle_id"),
    WAIT("bundle_init_from_mem", aclmdlBundleInitFromMem, "model, size, var_weight, var_weight_size -> bundle_id"),
    WAIT("bundle_load_model", aclmdlBundleLoadModel, "bundle_id, index -> model_id"),
    WAIT("bundle_load_model_with_mem", aclmdlBundleLoadModelWithMem,
         "bundle_id, index, work, work_size, weight, weight_size -> model_id"),
    WAIT("bundle_load_model_with_config", aclmdlBundleLoadModelWithConfig, "bundle_id, index, handle -> model_id"),
    CALL("bundle_get_model_num", aclmdlBundleGetModelNum, "bundle_id -> count"),
    CALL("bundle_get_model_id", aclmdlBundleGetModelId, "bundle_id, index -> model_id"),
    WAIT("bundle_unload_model", aclmdlBundleUnloadModel, "bundle_id, model_id"),
    WAIT("bundle_unload", aclmdlBundleUnload, "bundle_id"),
    CALL("bundle_create_query_info", aclmdlBundleCreateQueryInfo, "-> info"),
    CALL("bundle_destroy_query_info", aclmdlBundleDestroyQueryInfo, "info"),
    WAIT("bundle_query_info_from_file", aclmdlBundleQueryInfoFromFile, "path, info"),
    WAIT("bundle_query_info_from_mem", aclmdlBundleQueryInfoFromMem, "model, size, info"),
    CALL("bundle_get_query_model_num", aclmdlBundleGetQueryModelNum, "info -> count"),
    CALL("bundle_get_var_weight_size", aclmdlBundleGetVarWeightSize, "info -> size"),
    CALL("bundle_get_size", aclmdlBundleGetSize, "info, index -> work_size, weight_size"),

    CALL("create_desc", aclmdlCreateDesc, "-> desc"),
    CALL("destroy_desc", aclmdlDestroyDesc, "desc"),
    CALL("get_desc", aclmdlGetDesc, "desc, model_id"),
    CALL("get_desc_from_file", aclmdlGetDescFromFile, "desc, path"),
    CALL("get_desc_from_mem", aclmdlGetDescFromMem, "desc, model, size"),
    CALL("get_num_inputs", aclmdlGetNumInputs, "desc -> count"),
    CALL("get_num_outputs", aclmdlGetNumOutputs, "desc -> count"),
    CALL("get_input_size_by_index", aclmdlGetInputSizeByIndex, "desc, index -> size"),
    CALL("get_output_size_by_index", aclmdlGetOutputSizeByIndex, "desc, index -> size"),
    CALL("get_input_dims", aclmdlGetInputDims, "desc, index -> dims"),
    CALL("get_input_dims_v2", aclmdlGetInputDimsV2, "desc, index -> dims"),
    CALL("get_input_dims_range", aclmdlGetInputDimsRange, "desc, index -> dims_range"),
    CALL("get_output_dims", aclmdlGetOutputDims, "desc, index -> dims"),
    CALL("get_cur_output_dims", aclmdlGetCurOutputDims, "desc, index -> dims"),
    CALL("get_input_name_by_index", aclmdlGetInputNameByIndex, "desc, index -> name"),
    CALL("get_output_name_by_index", aclmdlGetOutputNameByIndex, "desc, index -> name"),
    CALL("get_input_index_by_name", aclmdlGetInputIndexByName, "desc, name -> index"),
    CALL("get_output_index_by_name", aclmdlGetOutputIndexByName, "desc, name -> index"),
    CALL("get_input_format", aclmdlGetInputFormat, "desc, index -> format"),
    CALL("get_output_format", aclmdlGetOutputFormat, "desc, index -> format"),
    CALL("get_input_data_type", aclmdlGetInputDataType, "desc, index -> data_type"),
    CALL("get_output_data_type", aclmdlGetOutputDataType, "desc, index -> data_type"),
    CALL("get_op_attr", aclmdlGetOpAttr, "desc, op_name, attr -> text"),
    CALL("get_tensor_real_name", aclmdlGetTensorRealName, "desc, name -> real_name"),
    CALL("get_dynamic_batch", aclmdlGetDynamicBatch, "desc -> batch"),
    CALL("get_dynamic_hw", aclmdlGetDynamicHW, "desc, index -> hw"),
    CALL("get_input_dynamic_gear_count", aclmdlGetInputDynamicGearCount, "desc, index -> gear_count"),
    CALL_AS("get_input_dynamic_dims", "aclmdlGetInputDynamicDims", dynamic_dims, "desc, index, gear_count -> dims"),

    CALL("create_dataset", aclmdlCreateDataset, "-> dataset"),
    CALL("destroy_dataset", aclmdlDestroyDataset, "dataset"),
    CALL_AS("add_dataset_buffer", "aclmdlAddDatasetBuffer", add_buffer, "dataset, buffer -> dataset"),
    CALL("get_dataset_num_buffers", aclmdlGetDatasetNumBuffers, "dataset -> count"),
    CALL("get_dataset_buffer", aclmdlGetDatasetBuffer, "dataset, index -> buffer"),
    CALL_AS("set_dataset_tensor_desc", "aclmdlSetDatasetTensorDesc", set_tensor_desc,
            "dataset, desc, index -> dataset"),
    CALL("get_dataset_tensor_desc", aclmdlGetDatasetTensorDesc, "dataset, index -> desc"),

    WAIT("execute", aclmdlExecute, "model_id, input, output"),
    WAIT("execute_async", aclmdlExecuteAsync, "model_id, input, output, stream"),
    CALL("create_exec_config_handle", aclmdlCreateExecConfigHandle, "-> handle"),
    CALL("destroy_exec_config_handle", aclmdlDestroyExecConfigHandle, "handle"),
    WAIT("execute_v2", aclmdlExecuteV2, "model_id, input, output, stream, handle"),
    WAIT("execute_async_v2", aclmdlExecuteAsyncV2, "model_id, input, output, stream, handle"),
    WAIT("set_dynamic_batch_size", aclmdlSetDynamicBatchSize, "model_id, dataset, index, batch_size"),
    WAIT("set_dynamic_hw_size", aclmdlSetDynamicHWSize, "model_id, dataset, index, height, width"),
    WAIT_AS("set_input_dynamic_dims", "aclmdlSetInputDynamicDims", set_dynamic_dims, "model_id, dataset, index, dims"),

    CALL("init_dump", aclmdlInitDump, ""),
    CALL("set_dump", aclmdlSetDump, "config_path"),
    WAIT("finalize_dump", aclmdlFinalizeDump, ""),
};

}  // namespace
const Table kModels{"mdl", kRows};
}  // namespace pyacl
