"""Small models of transformers' architectures: their own configuration with fewer and narrower layers, and inputs for them."""
import functools
import inspect

import torch

# What most configurations call their sizes. Only integers that are there are replaced.
SIZES = dict(
    hidden_size=32, d_model=32, n_embd=32, dim=32, embed_dim=32, embedding_size=32, word_embed_proj_dim=32, hidden_dim=64, intermediate_size=64,
    ffn_dim=64, encoder_ffn_dim=64, decoder_ffn_dim=64, d_ff=64, d_kv=8, moe_intermediate_size=32, shared_expert_intermediate_size=32,
    num_hidden_layers=2, n_layer=2, n_layers=2, num_layers=2, encoder_layers=2, decoder_layers=2, num_decoder_layers=2,
    num_attention_heads=4, n_head=4, n_heads=4, num_heads=4, encoder_attention_heads=4, decoder_attention_heads=4, num_key_value_heads=2, head_dim=8,
    rotary_dim=8, qk_head_dim=16, qk_rope_head_dim=8, qk_nope_head_dim=8, v_head_dim=8, q_lora_rank=16, kv_lora_rank=16,
    num_experts=4, num_local_experts=4, n_routed_experts=4, num_experts_per_tok=2, n_group=1, topk_group=1, first_k_dense_replace=1, n_shared_experts=1,
    state_size=8, conv_kernel=4, time_step_rank=4, vocab_size=99, n_positions=64, max_position_embeddings=64, max_source_positions=64,
    max_target_positions=64, image_size=32, patch_size=8, pad_token_id=0, bos_token_id=1, eos_token_id=2)

# Where one size must fit another in a way that the names above do not say.
OVERRIDES = {
    "bit": dict(embedding_size=16, hidden_sizes=[16, 24], depths=[1, 1]),
    "convnext": dict(hidden_sizes=[16, 24], depths=[1, 1], num_stages=2),
    "convnextv2": dict(hidden_sizes=[16, 24], depths=[1, 1], num_stages=2),
    "deepseek_v2": dict(num_key_value_heads=4),
    "deepseek_v3": dict(num_key_value_heads=4),
    "donut-swin": dict(embed_dim=24, depths=[1, 1], num_heads=[3, 6], patch_size=4, window_size=4),
    "efficientnet": dict(width_coefficient=0.25, depth_coefficient=0.3, image_size=64),
    "hiera": dict(embed_dim=16, image_size=[64, 64], depths=[1, 1], num_heads=[1, 2], query_stride=[2, 2]),
    "longcat_flash": dict(num_key_value_heads=4),
    "mamba2": dict(num_heads=8, head_dim=8, hidden_size=32, expand=2, n_groups=2, state_size=8, chunk_size=8),
    "maskformer-swin": dict(embed_dim=24, depths=[1, 1], num_heads=[3, 6], patch_size=4, window_size=4),
    "regnet": dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1], groups_width=8),
    "resnet": dict(embedding_size=16, hidden_sizes=[16, 32], depths=[1, 1]),
    "siglip": {"text_config.projection_size": 32},
    "swin": dict(embed_dim=24, depths=[1, 1], num_heads=[3, 6], patch_size=4, window_size=4),
    "swin2sr": dict(embed_dim=24, depths=[1, 1], num_heads=[3, 3], patch_size=1, window_size=4),
    "swinv2": dict(embed_dim=24, depths=[1, 1], num_heads=[3, 6], patch_size=4, window_size=4),
    "van": dict(hidden_sizes=[16, 24], depths=[1, 1], mlp_ratios=[2, 2], patch_sizes=[7, 3], strides=[4, 2]),
    "xmod": dict(default_language="en_XX"),
}

FRAMES = 16  # of a video
IMAGE_TOKENS = ("image_token_id", "image_token_index")  # in whose places a text has an image's patches
IMAGE_TOKEN = 95


def config(name):
    from transformers import CONFIG_MAPPING, PretrainedConfig

    def shrink(cfg, depth=0):
        for key, value in SIZES.items():
            old = getattr(cfg, key, None)
            if isinstance(old, int) and not isinstance(old, bool):
                try:
                    setattr(cfg, key, value)
                except (AttributeError, NotImplementedError, ValueError):  # a name for several sizes, or one that is computed
                    pass
        for value in list(vars(cfg).values()):
            if isinstance(value, PretrainedConfig) and depth < 3:
                shrink(value, depth + 1)
        kinds = getattr(cfg, "layer_types", None)
        if isinstance(kinds, list) and hasattr(cfg, "num_hidden_layers"):
            cfg.layer_types = kinds[:cfg.num_hidden_layers]
        cfg.use_cache = False

    cfg = CONFIG_MAPPING[name]()
    shrink(cfg)
    for key, value in OVERRIDES.get(name, {}).items():
        *path, last = key.split(".")
        setattr(functools.reduce(getattr, path, cfg), last, value)
    for key in IMAGE_TOKENS:
        if isinstance(getattr(cfg, key, None), int):
            setattr(cfg, key, IMAGE_TOKEN)
    return cfg


def inputs(model, cfg):
    """What forward() is called with, or a text that says which input is not made here."""
    names = inspect.signature(model.forward).parameters
    generator = torch.Generator().manual_seed(1)

    def tokens(*shape):
        return torch.randint(3, 90, shape, generator=generator)

    made = {}
    if "input_ids" in names:
        made["input_ids"] = tokens(2, 12)
    if "decoder_input_ids" in names:
        made["decoder_input_ids"] = tokens(2, 7)
    if "bbox" in names:
        left = torch.randint(0, 20, (2, 12, 2), generator=generator)
        made["bbox"] = torch.cat([left, left + 20], -1)
    if "pixel_values" in names:
        vision = getattr(cfg, "vision_config", cfg)
        size = getattr(vision, "image_size", 64)
        size = size if isinstance(size, (list, tuple)) else (size, size)
        channels = getattr(vision, "num_channels", 3)
        frames = (getattr(cfg, "num_frames", FRAMES),) if hasattr(cfg, "tubelet_size") or hasattr(cfg, "num_frames") else ()
        made["pixel_values"] = torch.rand((2, *frames, channels, *size), generator=generator)
        patch = getattr(vision, "patch_size", 8)
        if "input_ids" in made and isinstance(patch, int) and any(hasattr(cfg, k) for k in IMAGE_TOKENS):
            places = torch.full((2, (size[0] // patch) * (size[1] // patch)), IMAGE_TOKEN)
            made["input_ids"] = torch.cat([places, made["input_ids"]], 1)
    if "input_features" in names:
        width = next((getattr(cfg, k) for k in ("num_mel_bins", "feature_projection_input_dim", "input_feat_per_channel") if hasattr(cfg, k)), 80)
        shape = (2, width, 128) if "whisper" in cfg.model_type else (2, 128, width)
        made["input_features"] = torch.rand(shape, generator=generator)
    if "input_values" in names and not made:
        made["input_values"] = torch.rand((2, 4000), generator=generator)
    wanted = [k for k, p in names.items() if p.default is inspect.Parameter.empty and p.kind == p.POSITIONAL_OR_KEYWORD and k not in made]
    if wanted or not made:
        return "wants " + ", ".join(wanted or list(names)[:3])
    return made
