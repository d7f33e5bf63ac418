# published.py write DIR | check DIR - files of the Python package transformers: of small random models of GPT-2 and Llama,
# with tokens and what the models compute of them; and of files that cleave has exported there, whether they load and
# compute the same. tests/predict/published/ holds what `write` wrote.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import os
import sys

import torch
from safetensors.torch import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

how, folder = sys.argv[1:]
vocabulary, features, positions = 11, 8, 6


def disturbed(*models):
    for model in models:
        with torch.no_grad():  # norms and biases that are not 1 and 0
            for parameter in model.parameters():
                if parameter.dim() == 1:
                    parameter += 0.2 * torch.randn_like(parameter)


def models():
    torch.manual_seed(7)
    gpt2 = GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, n_positions=positions + 3, n_embd=features, n_layer=2, n_head=2,
                                      initializer_range=0.3, attn_pdrop=0, embd_pdrop=0, resid_pdrop=0))
    llama = LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, hidden_size=features, intermediate_size=24, num_hidden_layers=2,
                                         num_attention_heads=2, rms_norm_eps=1e-6, initializer_range=0.3, rope_theta=10000.0,
                                         max_position_embeddings=positions, tie_word_embeddings=False))
    disturbed(gpt2, llama)
    grouped = LlamaForCausalLM(LlamaConfig(vocab_size=vocabulary, hidden_size=2 * features, intermediate_size=8, num_hidden_layers=1,
                                           num_attention_heads=4, num_key_value_heads=2, rms_norm_eps=1e-6, initializer_range=0.3,
                                           rope_theta=10000.0, max_position_embeddings=positions, tie_word_embeddings=False))
    disturbed(grouped)
    return {"gpt2": gpt2.eval(), "llama": llama.eval(), "llama_grouped": grouped.eval()}


tokens = (torch.arange(2 * positions) * 5 + 2).remainder(vocabulary).reshape(2, positions)
with torch.no_grad():
    for name, model in models().items():
        wanted = model(tokens).logits
        if how == "write":
            model.save_pretrained(os.path.join(folder, name))
            os.replace(os.path.join(folder, name, "model.safetensors"), os.path.join(folder, name + ".safetensors"))
            for other in os.listdir(os.path.join(folder, name)):
                os.remove(os.path.join(folder, name, other))
            os.rmdir(os.path.join(folder, name))
            save_file({"tokens": tokens.float(), "outputs": wanted.contiguous()}, os.path.join(folder, name + "_outputs.safetensors"))
        else:
            read = load_file(os.path.join(folder, name + "_exported.safetensors"))
            for parameter in model.parameters():
                parameter.zero_()
            if "transformer.wpe.weight" in read:  # the model here has fewer positions
                rest = (0, 0, 0, 3)
                read["transformer.wpe.weight"] = torch.nn.functional.pad(read["transformer.wpe.weight"], rest)
            missing, unexpected = model.load_state_dict(read, strict=False)
            assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
            worst = (model(tokens).logits - wanted).abs().max().item()
            print(f"{name}: {len(read)} tensors, largest difference {worst:.2g}")
            assert worst == 0
