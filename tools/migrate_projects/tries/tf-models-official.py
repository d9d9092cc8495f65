import tensorflow as tf

tf.keras.utils.set_random_seed(0)
from official.nlp.modeling import models, networks  # noqa: E402

if tf.config.list_physical_devices("GPU"):
    tf.config.experimental.set_memory_growth(tf.config.list_physical_devices("GPU")[0], True)


def main():
    encoder = networks.BertEncoder(vocab_size=32, hidden_size=16, num_layers=1, num_attention_heads=2, intermediate_size=32,
                                   max_sequence_length=16, dropout_rate=0.0, attention_dropout_rate=0.0)
    model = models.BertClassifier(encoder, num_classes=3, dropout_rate=0.0)
    optimizer = tf.keras.optimizers.legacy.Adam(0.01)
    ids = tf.random.uniform((8, 16), 0, 32, tf.int32, seed=1)
    labels = tf.random.uniform((8,), 0, 3, tf.int32, seed=2)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            logits = model({"input_word_ids": ids, "input_mask": tf.ones_like(ids), "input_type_ids": tf.zeros_like(ids)}, training=True)
            loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, logits)
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    for _ in range(4):
        loss = step()
    print("RESULT", "npu" if "NPU" in loss.device.upper() else "cpu", f"{float(loss):.5f}")


if __name__ == "__main__":
    main()
