"""transformers' Trainer on a small BERT: what users get who write no loop of their own."""
import argparse

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("--evaluate-on-main", action="store_true", help="rank 0 alone evaluates at the end")
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--hidden", type=int, default=32)
args = parser.parse_args()


class Sentences(torch.utils.data.Dataset):
    def __init__(self, count):
        self.tokens = torch.randint(5, 100, (count, 12), generator=torch.Generator().manual_seed(count))

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, i):
        return {"input_ids": self.tokens[i], "attention_mask": torch.ones(12, dtype=torch.long), "labels": self.tokens[i].sum() % 2}


set_seed(3)
model = BertForSequenceClassification(BertConfig(vocab_size=100, hidden_size=args.hidden, num_hidden_layers=2, num_attention_heads=2,
                                                 intermediate_size=2 * args.hidden, max_position_embeddings=16))
trainer = Trainer(model=model, train_dataset=Sentences(96), eval_dataset=Sentences(16), args=TrainingArguments(
    output_dir=args.out, num_train_epochs=2, per_device_train_batch_size=4, per_device_eval_batch_size=4,
    gradient_accumulation_steps=args.accumulate, save_strategy="epoch", eval_strategy="epoch", logging_steps=3, report_to=[],
    disable_tqdm=True, ddp_timeout=20))
result = trainer.train()
if args.evaluate_on_main:
    if trainer.is_world_process_zero():
        trainer.evaluate()  # by rank 0
    torch.distributed.barrier()
print(f"loss {result.training_loss:.4f}")
