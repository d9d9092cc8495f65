"""peft: a small LLaMA is tuned by an adapter, generates, and takes the adapter into its weights."""
from begin import DEVICE, OPTIONS, give, numbers, torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

torch.manual_seed(0)
model = LlamaForCausalLM(LlamaConfig(vocab_size=300, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
                                     num_key_value_heads=2, pad_token_id=0))
model = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj", "v_proj", "down_proj"], lora_dropout=0.0, task_type="CAUSAL_LM", **OPTIONS)).to(DEVICE)
words = torch.randint(1, 300, (2, 24)).to(DEVICE)
optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
losses = []
for _ in range(5):
    loss = model(input_ids=words, labels=words).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    losses.append(loss.item())
model.eval()
begin, seen = words[:, :5], torch.ones(2, 5, dtype=torch.long, device=DEVICE)
greedy = model.generate(input_ids=begin, attention_mask=seen, max_new_tokens=12, do_sample=False)
beams = model.generate(input_ids=begin, attention_mask=seen, max_new_tokens=6, num_beams=3)
give(losses=losses, greedy=numbers(greedy), beams=numbers(beams), merged=numbers(model.merge_and_unload()(words).logits))
