"""apex.normalization: layer norm and RMS norm."""

from apex.normalization.fused_layer_norm import (FusedLayerNorm, FusedRMSNorm, MixedFusedLayerNorm, MixedFusedRMSNorm,
                                                 manual_rms_norm)

__all__ = ["FusedLayerNorm", "FusedRMSNorm", "MixedFusedLayerNorm", "MixedFusedRMSNorm", "manual_rms_norm"]
