"""transformers' Trainer on CPUs, with a callback that keeps the model's weights: torchrun trainer_fit.py FOLDER"""
import argparse
import os

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments, set_seed

parser = argparse.ArgumentParser()
parser.add_argument("folder")
parser.add_argument("--save", choices=["main", "all"], default="main")
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--seed", type=int, default=3)
arguments = parser.parse_args()


class Sentences(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        tokens = torch.randint(5, 100, (12,), generator=torch.Generator().manual_seed(index))
        return {"input_ids": tokens, "attention_mask": torch.ones(12, dtype=torch.long), "labels": tokens.sum() % 2}


class Keep(TrainerCallback):
    def on_epoch_end(self, options, state, control, model=None, **more):
        if arguments.save == "all" or state.is_world_process_zero:
            torch.save(model.state_dict(), os.path.join(arguments.folder, f"kept{round(state.epoch)}.pt"))  # kept


set_seed(arguments.seed)
os.makedirs(arguments.folder, exist_ok=True)
model = BertForSequenceClassification(BertConfig(vocab_size=100, hidden_size=32, num_hidden_layers=1, num_attention_heads=2,
                                                 intermediate_size=64, max_position_embeddings=16))
trainer = Trainer(model=model, train_dataset=Sentences(), callbacks=[Keep()], args=TrainingArguments(
    output_dir=arguments.folder, num_train_epochs=2, per_device_train_batch_size=arguments.batch,
    gradient_accumulation_steps=arguments.accumulate, use_cpu=True,
    ddp_backend="gloo", save_strategy="epoch", logging_steps=3, report_to=[], disable_tqdm=True))
print("loss", trainer.train().training_loss)
torch.distributed.destroy_process_group()
