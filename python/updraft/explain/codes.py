"""Codes of AscendCL, the runtime, aclnn, HCCL and torch_npu: (name, meaning, what to do), each in English and Chinese."""

from collections import namedtuple

Code = namedtuple("Code", "code name meaning meaning_zh advice advice_zh")

_ROWS = """
100000 | ACL_ERROR_INVALID_PARAM | an argument is wrong | 参数错误 | The text of the error names the argument, what was wanted and what came. | 错误文本会指出参数、期望值和实际值。
100001 | ACL_ERROR_UNINITIALIZE | aclInit was not called | 未调用 aclInit | Call aclInit (acl.init) once before everything else. | 先调用一次 aclInit（acl.init）。
100002 | ACL_ERROR_REPEAT_INITIALIZE | aclInit was called twice | 重复调用 aclInit | Frameworks call it by themselves: a program that uses torch_npu must not call it again. | 框架会自行调用：使用 torch_npu 的程序不要再次调用。
100003 | ACL_ERROR_INVALID_FILE | a file cannot be opened | 文件无法打开 | See that the path is right and readable. | 检查路径与读权限。
100006 | ACL_ERROR_PARSE_FILE | the JSON file given to aclInit cannot be read | aclInit 的 JSON 文件无法解析 | The text says where the JSON is wrong. | 错误文本指出 JSON 的出错位置。
100009 | ACL_ERROR_INVALID_DUMP_CONFIG | the dump part of the configuration is wrong | dump 配置错误 | The text names the key, its value and what is allowed. | 错误文本给出键、取值和允许的值。
100010 | ACL_ERROR_INVALID_PROFILING_CONFIG | the profiling part of the configuration is wrong | profiling 配置错误 | The text names the key, its value and what is allowed. | 错误文本给出键、取值和允许的值。
100011 | ACL_ERROR_INVALID_MODEL_ID | there is no such model | 模型 ID 不存在 | It was unloaded, or never loaded: keep the number that aclmdlLoad… gave. | 模型已卸载或未加载：请保存 aclmdlLoad… 返回的编号。
100017 | ACL_ERROR_MODEL_INPUT_NOT_MATCH | the inputs do not fit the model | 输入与模型不符 | Compare number and sizes with aclmdlGetNumInputs and aclmdlGetInputSizeByIndex. | 与 aclmdlGetNumInputs、aclmdlGetInputSizeByIndex 核对数量和大小。
100018 | ACL_ERROR_MODEL_OUTPUT_NOT_MATCH | the outputs do not fit the model | 输出与模型不符 | Compare number and sizes with aclmdlGetNumOutputs and aclmdlGetOutputSizeByIndex. | 与 aclmdlGetNumOutputs、aclmdlGetOutputSizeByIndex 核对数量和大小。
100024 | ACL_ERROR_OP_NOT_FOUND | there is no operator of that name for these types | 没有该名称与类型的算子 | On Updraft: docs/reference/operators.md. On a card: is the package of operators for this product installed? | Updraft 见 docs/reference/operators.md；真卡请检查是否安装了该型号的算子包。
100026 | ACL_ERROR_UNSUPPORTED_DATA_TYPE | the data type is not supported | 数据类型不支持 | Convert the tensor; the text names the types that are taken. | 转换张量类型；错误文本列出支持的类型。
100037 | ACL_ERROR_REPEAT_FINALIZE | aclFinalize was called twice | 重复调用 aclFinalize | Call it once, at the end. | 只在最后调用一次。
107000 | ACL_ERROR_RT_PARAM_INVALID | an argument of a runtime call is wrong | 运行时接口参数错误 | The text names it. A pointer that was freed, or is no memory of this device, is a frequent one. | 错误文本会指出参数；常见原因是指针已释放或不属于该设备。
107001 | ACL_ERROR_RT_INVALID_DEVICEID | there is no such device | 设备编号无效 | ASCEND_RT_VISIBLE_DEVICES numbers devices anew from 0. On Updraft UPDRAFT_DEVICES sets how many there are. | ASCEND_RT_VISIBLE_DEVICES 会从 0 重新编号；Updraft 由 UPDRAFT_DEVICES 设定设备数。
107002 | ACL_ERROR_RT_CONTEXT_NULL | this thread has no device | 当前线程没有设备上下文 | Call aclrtSetDevice (torch.npu.set_device) in each thread that makes calls. | 在每个调用线程中执行 aclrtSetDevice（torch.npu.set_device）。
107003 | ACL_ERROR_RT_STREAM_CONTEXT | the stream belongs to another context | stream 属于其他上下文 | Set the device, or context, that the stream was made on. | 先切换到创建该 stream 的设备或上下文。
107006 | ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID | an event has no time | event 没有时间戳 | Record both events with timing (enable_timing=True) and let them happen before elapsed_time. | 两个 event 都需启用计时（enable_timing=True），并在取 elapsed_time 之前完成。
107012 | ACL_ERROR_RT_THREAD_SUBSCRIBE | the thread takes the callbacks of this stream already | 线程已订阅该 stream 的回调 | Call aclrtSubscribeReport once for each stream. | 每个 stream 只调用一次 aclrtSubscribeReport。
107015 | ACL_ERROR_RT_STREAM_NO_CB_REG | nobody takes the callbacks of this stream | stream 未注册回调线程 | Call aclrtSubscribeReport with the thread that calls aclrtProcessReport. | 用调用 aclrtProcessReport 的线程执行 aclrtSubscribeReport。
107017 | ACL_ERROR_RT_INVALID_HANDLE | a handle is none, or was destroyed | 句柄无效或已销毁 | Keep events and streams until what uses them has run. | 在使用它们的任务完成之前不要销毁 event 与 stream。
107019 | ACL_ERROR_RT_WAIT_TIMEOUT | a wait took longer than allowed | 等待超时 | Another stream or rank has not done its part: look at its log. | 另一 stream 或 rank 未完成：查看其日志。
107020 | ACL_ERROR_RT_TASK_TIMEOUT | a task took longer than allowed | 任务超时 | In collectives another rank is missing or slow (HCCL_EXEC_TIMEOUT sets the limit). | 集合通信中通常是其他 rank 缺失或过慢（上限由 HCCL_EXEC_TIMEOUT 设定）。
107022 | ACL_ERROR_RT_DEVICE_TASK_ABORT | the tasks of the device were aborted | 设备任务被中止 | Somebody asked for it (aclrtDeviceTaskAbort), as recovery in a job does. | 由 aclrtDeviceTaskAbort 触发，例如作业恢复过程。
107027 | ACL_ERROR_RT_STREAM_CAPTURED | the call is not allowed while a graph is captured | 捕获图期间不允许该调用 | Do not read values, synchronise or allocate pinned memory inside torch.npu.graph; warm up before. | 在 torch.npu.graph 内不要取值、同步或申请锁页内存；先预热。
200000 | ACL_ERROR_BAD_ALLOC | the host is out of memory | 主机内存不足 | Free memory of the host, or start fewer processes (DataLoader workers). | 释放主机内存或减少进程（DataLoader worker）。
200001 | ACL_ERROR_API_NOT_SUPPORT | the function is not supported | 接口不支持 | On Updraft: docs/reference/support.md. On a card: a newer CANN, or another product. | Updraft 见 docs/reference/support.md；真卡需要更新的 CANN 或其他型号。
200006 | ACL_ERROR_FEATURE_UNSUPPORTED | the feature is not supported | 特性不支持 | See the text; docs/reference/support.md lists what there is. | 见错误文本；docs/reference/support.md 列出已有内容。
207000 | ACL_ERROR_RT_FEATURE_NOT_SUPPORT | the product or runtime has not got it | 该型号或运行时不支持 | The text says what was asked for. | 错误文本说明所请求的内容。
207001 | ACL_ERROR_RT_MEMORY_ALLOCATION | the device is out of memory | 设备内存不足 | A smaller batch, activation checkpointing, or other processes on the device (npu-smi info). On Updraft UPDRAFT_MEMORY sets the size. | 减小 batch、激活重计算，或检查设备上的其他进程（npu-smi info）；Updraft 由 UPDRAFT_MEMORY 设定大小。
207005 | ACL_ERROR_RT_RESOURCE_ALLOC_FAIL | streams, events or notifies are used up | stream、event 或 notify 资源耗尽 | Destroy what is no longer used; do not make streams in a loop. | 销毁不再使用的资源；不要在循环中创建 stream。
500000 | ACL_ERROR_INTERNAL_ERROR | an error inside the library | 库内部错误 | Report it with the log (ASCEND_GLOBAL_LOG_LEVEL=1). | 请附日志（ASCEND_GLOBAL_LOG_LEVEL=1）报告。
500002 | ACL_ERROR_GE_FAILURE | the graph engine failed | 图引擎失败 | Look at the lines of module GE in the log. | 查看日志中 GE 模块的行。
507000 | ACL_ERROR_RT_INTERNAL_ERROR | an error inside the runtime | 运行时内部错误 | Report it with the log. | 请附日志报告。
507014 | ACL_ERROR_RT_AICORE_TIMEOUT | an operator ran for too long | 算子执行超时 | On a card often an endless loop in a kernel or a huge input; torch_npu's OP_EXECUTE_TIMEOUT sets the limit. | 真卡上常为核函数死循环或输入过大；上限由 OP_EXECUTE_TIMEOUT 设定。
507015 | ACL_ERROR_RT_AICORE_EXCEPTION | an operator failed on the AI Core | 算子在 AI Core 上异常 | It is reported at the next synchronisation, not where it was called: run with ASCEND_LAUNCH_BLOCKING=1 to find the line. Indices out of range and freed memory are the usual causes. | 异常在下一次同步时才上报，并非调用处：用 ASCEND_LAUNCH_BLOCKING=1 定位。常见原因是索引越界和已释放的内存。
507018 | ACL_ERROR_RT_AICPU_EXCEPTION | an operator failed on the AI CPU | 算子在 AI CPU 上异常 | As 507015. | 同 507015。
507035 | ACL_ERROR_RT_VECTOR_CORE_EXCEPTION | an operator failed on a vector core | 算子在矢量核上异常 | As 507015. | 同 507015。
507048 | ACL_ERROR_RT_COMMUNICATION | a collective failed while it ran | 集合通信执行失败 | The text names the rank. Look at the log of that rank first. | 错误文本指出 rank；先查看该 rank 的日志。
161001 | ACLNN_ERR_PARAM_NULLPTR | a required pointer of an operator is null | 算子的必选指针为空 | The text names the parameter. | 错误文本指出参数。
161002 | ACLNN_ERR_PARAM_INVALID | shapes, types or values do not fit the operator | 形状、类型或取值不符合算子要求 | The text says what was wanted and what came. | 错误文本说明期望与实际。
361001 | ACLNN_ERR_RUNTIME_ERROR | the runtime refused what an operator asked for | 算子调用运行时失败 | The runtime's own error stands before it in the text. | 错误文本中含运行时的错误。
561000 | ACLNN_ERR_INNER | an error inside the operator library | 算子库内部错误 | Report it with the text. | 请附错误文本报告。
561003 | ACLNN_ERR_INNER_FIND_KERNEL_ERROR | there is no kernel for the operator | 找不到算子的核函数 | On Updraft the operator is missing (docs/reference/operators.md). On a card the package of operators is missing or for another product. | Updraft 未实现该算子（docs/reference/operators.md）；真卡上为算子包缺失或型号不符。
145000 | ACL_ERROR_GE_PARAM_INVALID | an argument of the graph engine is wrong | 图引擎参数错误 | The text names it. | 错误文本会指出。
145002 | ACL_ERROR_GE_EXEC_MODEL_PATH_INVALID | the model's file cannot be read | 模型文件无法读取 | See that the path is right and readable. | 检查路径与读权限。
145011 | ACL_ERROR_GE_DYNAMIC_INPUT_ADDR_INVALID | the input for dynamic sizes is no memory | 动态尺寸输入的地址无效 | Give it memory of the device, as for any input. | 与其他输入一样提供设备内存。
145013 | ACL_ERROR_GE_DYNAMIC_BATCH_SIZE_INVALID | the size is none of those that the model was made for | 尺寸不在模型的档位中 | atc's --dynamic_batch_size, --dynamic_image_size or --dynamic_dims list them. | 由 atc 的 --dynamic_batch_size、--dynamic_image_size、--dynamic_dims 指定。
545001 | ACL_ERROR_GE_LOAD_MODEL | the model cannot be loaded | 模型加载失败 | Made by another version or for another product (atc --soc_version), or the file is not whole. | 由其他版本或型号生成（atc --soc_version），或文件不完整。
545601 | ACL_ERROR_GE_MODEL_EXECUTE_TIMEOUT | the model ran for too long | 模型执行超时 | A larger limit, or look for a wait that never ends. | 增大超时，或查找不会结束的等待。
HCCL 1 | HCCL_E_PARA | an argument of a collective is wrong | 集合通信参数错误 | The text names it (EI0003). | 错误文本会指出（EI0003）。
HCCL 2 | HCCL_E_PTR | a pointer is null | 指针为空 | The text names it. | 错误文本会指出。
HCCL 3 | HCCL_E_MEMORY | memory for a collective is missing | 集合通信内存不足 | HCCL_BUFFSIZE sets the buffers' size. | 缓冲区大小由 HCCL_BUFFSIZE 设定。
HCCL 4 | HCCL_E_INTERNAL | an error inside HCCL, or of another rank | HCCL 内部错误或其他 rank 出错 | Look at the log of every rank; the one that failed first says why. | 查看所有 rank 的日志，最先失败者说明原因。
HCCL 5 | HCCL_E_NOT_SUPPORT | HCCL has not got this | HCCL 不支持 | docs/reference/support.md lists what there is. | docs/reference/support.md 列出已有内容。
HCCL 6 | HCCL_E_NOT_FOUND | a group, or the rank table, was not found | 找不到通信组或 rank 表 | See RANK_TABLE_FILE, or the group's name. | 检查 RANK_TABLE_FILE 或组名。
HCCL 7 | HCCL_E_UNAVAIL | something needed is not available | 资源不可用 | The text says what. | 错误文本会说明。
HCCL 9 | HCCL_E_TIMEOUT | other ranks did not come in time | 等待其他 rank 超时 | As EI0006. | 同 EI0006。
HCCL 11 | HCCL_E_TCP_CONNECT | a connection between hosts failed | 主机间连接失败 | Addresses, ports and firewalls; HCCL_IF_IP and HCCL_SOCKET_IFNAME choose the interface. | 检查地址、端口和防火墙；HCCL_IF_IP、HCCL_SOCKET_IFNAME 选择网卡。
HCCL 15 | HCCL_E_RUNTIME | the runtime refused what HCCL asked for | HCCL 调用运行时失败 | The text has the runtime's error. | 错误文本含运行时错误。
HCCL 19 | HCCL_E_NETWORK | the network failed | 网络错误 | Look at the links between the hosts. | 检查主机间链路。
HCCL 21 | HCCL_E_REMOTE | another rank has failed | 其他 rank 失败 | The text names the rank: look at its log first. | 错误文本指出 rank：先看其日志。
EI0001 | environment variable | an HCCL environment variable has a wrong value | HCCL 环境变量取值错误 | The text names the variable and what is allowed. | 错误文本给出变量及允许取值。
EI0002 | dropped or late | a collective was dropped with its stream, or waited too long for another rank | 集合通信随 stream 中止，或等待其他 rank 超时 | What failed on that stream before, or a rank that ended, hangs, or calls other collectives. HCCL_EXEC_TIMEOUT sets the limit; the log of the missing rank says more. | 查看该 stream 之前的失败，或已退出、挂起、调用了不同通信算子的 rank；上限由 HCCL_EXEC_TIMEOUT 设定，请看缺失 rank 的日志。
EI0003 | invalid argument | an argument of a collective is wrong | 集合通信参数错误 | The text names it, with what was wanted. | 错误文本指出参数和期望值。
EI0004 | rank table | the rank table is wrong | rank 表错误 | The text names the place in the file. | 错误文本指出文件中的位置。
EI0005 | disagreement | ranks called different collectives, or with other sizes | 各 rank 的通信算子或大小不一致 | All ranks must call the same collectives in the same order; a batch that is short on one rank is a usual cause (drop_last=True). | 所有 rank 须以相同顺序调用相同通信算子；常见原因是某 rank 的最后一批较小（drop_last=True）。
EI0006 | peer | another rank was not reached in time, or failed | 其他 rank 未及时连通或已失败 | The text names the rank: look at its log and exit status first. All must start within HCCL_CONNECT_TIMEOUT; see addresses and ports. | 错误文本指出 rank：先看其日志和退出码；须在 HCCL_CONNECT_TIMEOUT 内全部启动，检查地址与端口。
EI0007 | resources | memory or handles for a communicator are missing | 通信域资源不足 | Fewer communicators, or a smaller HCCL_BUFFSIZE. | 减少通信域或减小 HCCL_BUFFSIZE。
EI0015 | rendezvous | ranks could not agree on a communicator | 通信域协商失败 | The text says which rank refused what. | 错误文本说明哪个 rank 拒绝了什么。
EI0019 | address | an address cannot be listened on or reached | 地址无法监听或连接 | Another job may use the port (HCCL_IF_BASE_PORT, CM_CHIEF_PORT choose others); see HCCL_IF_IP and HCCL_SOCKET_IFNAME. | 端口可能被其他作业占用（可用 HCCL_IF_BASE_PORT、CM_CHIEF_PORT 更换）；检查 HCCL_IF_IP、HCCL_SOCKET_IFNAME。
EZ1001 | invalid argument | as the code behind it says | 见其后的错误码 | The sentence names the argument. | 错误语句指出参数。
EZ3003 | not supported | no implementation for this call | 没有对应实现 | docs/reference/support.md and operators.md. | 见 docs/reference/support.md 与 operators.md。
EZ9999 | inner error | an error without a code of its own | 无专用编号的内部错误 | The sentence behind it is what counts. | 以其后的语句为准。
EE1001 | invalid argument of the runtime | as 107000 | 同 107000 | See 107000, 107001. | 见 107000、107001。
EE4001 | time limit | as 107019 and 107020 | 同 107019、107020 | See 107020. | 见 107020。
EL0004 | out of device memory | as 207001 | 同 207001 | See 207001. | 见 207001。
E10001 | atc argument | an option of atc has a wrong value | atc 选项取值错误 | atc --help; docs/use/atc.md. | atc --help；docs/use/atc.md。
E10005 | atc argument | an option of atc wants true or false | atc 选项应为 true 或 false | The text names the option. | 错误文本指出选项。
E10007 | atc argument | a needed option of atc is missing | 缺少 atc 必选项 | --framework, --model, --output and --soc_version are needed. | 需要 --framework、--model、--output、--soc_version。
E19010 | operator | the model has an operator that cannot be converted | 模型中有无法转换的算子 | docs/reference/onnx-operators.md lists what is converted; atc --mode=3 checks without compiling. | docs/reference/onnx-operators.md 列出可转换的算子；atc --mode=3 只做检查。
"""

# ERRSSCCC of torch_npu (torch_npu/utils/_error_code.py): which part, and what happened.
ADAPTER_PARTS = {0: ("PyTorch's adapter", "PyTorch 适配层"), 1: ("operators", "算子"), 2: ("distributed", "分布式"), 3: ("graph", "图模式"),
                 4: ("profiler", "性能采集")}
ADAPTER_CODES = {1: ("an argument is wrong", "参数错误"), 2: ("a type is wrong", "类型错误"), 3: ("a value is wrong", "取值错误"),
                 4: ("a pointer is null", "空指针"), 5: ("an internal error", "内部错误"), 6: ("memory", "内存"),
                 7: ("not supported", "不支持"), 8: ("not found", "未找到"), 9: ("not available", "不可用"), 10: ("a system call failed", "系统调用失败"),
                 11: ("a time limit", "超时"), 12: ("permission denied", "权限不足"),
                 100: ("a call of AscendCL failed", "AscendCL 调用失败"), 200: ("a call of HCCL failed", "HCCL 调用失败"),
                 300: ("a call of the graph engine failed", "图引擎调用失败"), 999: ("an exception of the program", "程序自身的异常")}


def table():
    """{code as text: Code}."""
    made = {}
    for line in _ROWS.strip().splitlines():
        cells = [c.strip() for c in line.split(" | ")]
        made[cells[0]] = Code(*cells)
    return made


def adapter(text):
    """What ERRSSCCC says, as a Code; None when it is none."""
    if not (text.startswith("ERR") and text[3:].isdigit() and len(text) == 8):
        return None
    part, code = ADAPTER_PARTS.get(int(text[3:5])), ADAPTER_CODES.get(int(text[5:]))
    if not part or not code:
        return None
    return Code(text, "torch_npu: " + part[0], code[0], part[1] + "：" + code[1], "The code of the library below and its sentence stand in the same message.",
                "下层库的错误码和语句在同一条消息中。")
