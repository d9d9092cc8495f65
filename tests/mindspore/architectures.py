"""Small models of transformers, by the names of their classes: (class, class of the configuration, its settings, inputs)."""
import numpy as np

SIZES = {"vocab_size": 120, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
TEXT = {**SIZES, "max_position_embeddings": 64}
DECODER = {**TEXT, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
OF_GPT = {"vocab_size": 120, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
OF_T5 = {"vocab_size": 120, "d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
OF_BART = {"vocab_size": 120, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
           "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
           "decoder_start_token_id": 1}
VISION = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64, "image_size": 32, "patch_size": 8}
FOUR_STAGES = {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}
HEADS_OF_STAGES = {**FOUR_STAGES, "num_attention_heads": [1, 1, 2, 2]}
SHIFTED = {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4], "window_size": 4}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
rng = np.random.default_rng(0)


def words(count=12):
    return {"input_ids": rng.integers(3, 119, (2, count))}


def two_texts():
    return {**words(), "decoder_input_ids": rng.integers(3, 119, (2, 7))}


def picture(size=32):
    return {"pixel_values": rng.standard_normal((2, 3, size, size)).astype(np.float32)}


def large_picture():
    return picture(64)


def picture_and_words():
    return {**picture(), **words(7)}


def sound():
    return {"input_features": rng.standard_normal((2, 8, 40)).astype(np.float32), "decoder_input_ids": rng.integers(3, 119, (2, 7))}


ARCHITECTURES = {}


def add(inputs, settings, names, ending="Model"):
    for name in names.split():
        ARCHITECTURES[name.lower()] = (name + ending, name + "Config", settings, inputs)


add(words, DECODER, "Llama Mistral Qwen2 Gemma Gemma2 Olmo Olmo2 Starcoder2 Cohere Granite Helium Phi Persimmon Nemotron SmolLM3 Ernie4_5", "ForCausalLM")
add(words, {**DECODER, "num_local_experts": 4, "num_experts_per_tok": 2}, "Mixtral", "ForCausalLM")
add(words, {**DECODER, **EXPERTS, "shared_expert_intermediate_size": 32}, "Qwen2Moe Qwen3Moe", "ForCausalLM")
add(words, OF_GPT, "GPT2", "LMHeadModel")
add(words, {**OF_GPT, "rotary_dim": 4}, "GPTJ", "ForCausalLM")
add(words, TEXT, "GPTNeoX", "ForCausalLM")
add(words, {**TEXT, "ffn_dim": 64, "word_embed_proj_dim": 32}, "OPT", "ForCausalLM")
add(words, {"vocab_size": 120, "hidden_size": 32, "n_layer": 2, "n_head": 4}, "Bloom", "ForCausalLM")
add(words, {"vocab_size": 120, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}, "Falcon", "ForCausalLM")
add(words, {"vocab_size": 120, "d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64}, "Mpt", "ForCausalLM")
add(words, {"vocab_size": 120, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}, "Mamba", "ForCausalLM")
add(words, TEXT, "Bert Roberta MPNet Deberta DebertaV2 Camembert RoFormer ConvBert MegatronBert Ernie LayoutLM IBert XLMRoberta Data2VecText")
add(words, {**TEXT, "embedding_size": 32}, "SqueezeBert Electra Albert")
add(words, {"vocab_size": 120, "dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64, "max_position_embeddings": 64}, "DistilBert")
add(words, {"vocab_size": 120, "d_model": 32, "n_head": 4, "d_head": 8, "d_inner": 64, "block_sizes": [1, 1], "num_decoder_layers": 1}, "Funnel")
add(words, {"vocab_size": 120, "d_model": 32, "n_layer": 2, "n_head": 4, "d_inner": 64}, "XLNet")
add(two_texts, OF_T5, "T5 MT5 UMT5")
add(two_texts, OF_BART, "Bart MBart Pegasus Blenderbot M2M100 PLBart BlenderbotSmall")
add(sound, {**OF_BART, "num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 20}, "Whisper")
add(picture, VISION, "DeiT Dinov2 Beit ViTMSN IJepa SiglipVision CLIPVision Data2VecVision DINOv3ViT DPT")
add(picture, SHIFTED, "Swin")
add(picture, FOUR_STAGES, "ConvNext ConvNextV2")
add(picture, {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]}, "ResNet")
add(large_picture, {**HEADS_OF_STAGES, "image_size": 64}, "Segformer Pvt")
add(large_picture, FOUR_STAGES, "PoolFormer")
add(picture_and_words, {"text_config": {**TEXT, "eos_token_id": 2}, "vision_config": VISION, "projection_dim": 16}, "CLIP ChineseCLIP")
