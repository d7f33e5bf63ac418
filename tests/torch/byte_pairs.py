# byte_pairs.py DIR - of the Python package tokenizers: two small tokenizers, split as GPT-2 and as Llama 3, and texts with
# their words and tokens. tests/data/byte_pairs/ holds what it wrote.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import os
import random
import sys

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

folder = sys.argv[1]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
LEARNT = """The dog isn't here, and it's they who've said that we'll be there; I'm sure you're right, he'd say. THE DOG'S DAY.
In 2024 and 1999, 12,345.67 or 1000000 things:   a = [1, 2, 3];    b = (a + 1) * 2;  // comment\n\tif (x == y) {\n\n    return;\r\n}
Größe, Äpfel, élève, cafe\u0301, naïve, Привет, мир! Привет, 你好,世界。世界 日本語のテキスト。 안녕 세계 שלום مرحبا नमस्ते 😀😀 👍🏽 ½ ² Ⅷ ٣٤٥ --- ... <<>> !!!
"""
PIECES = ["'s", "'S", "'t", "'re", "'VE", "'lL", "'d", "'M", "'\u017f", "\u017f", " ", "  ", "   ", "\n", "\r\n", "\r", "\t",
          "\u00a0", "\u3000", "\u2028", "\u000b", "\u001c", "\u0085", "a", "The", " dog", "é", "e\u0301", "\u0301", "你好", "世界",
          "😀", "👍🏽", "\u200d", "1", "12", "1234567", "½", "Ⅷ", "٣", "!", "...", "'", "_", "ß", "नमस्ते", "\U0010ffff",
          "\u1c89", "\ua7cb", "<|endoftext|>", "<|end|>", "<|end|>x", "<|"]
TEXTS = ["", " ", "  ", "\n", "The dog is here.", "they'll we've I'M HE'S o'clock '' 's", "a  b   c    d ", "tabs\t\tand\n\n\nlines\r\n\r\n x",
         "1 12 123 1234 12345 3.14159 2,718", "Größe élève cafe\u0301 naïve", "你好,世界!日本語のテキスト", "안녕 세계 שלום مرحبا नमस्ते",
         "😀👍🏽👨\u200d👩\u200d👧 ok", "½²Ⅷ٣٤٥", "<|endoftext|>The dog<|endoftext|><|endoftext|>", "<|end|>x<|end|> x <|end", "\x00\x01\x7f",
         "    return a;\n}\n", " \u00a0\u3000x", "\u00a0x", "\u2028\u2029\n", "don't DON'T don\u2019t", "a" * 70, "-" * 40 + "=" * 21, " " * 33 + "x"]


def learnt(splitter, whole_words):
    tokenizer = Tokenizer(models.BPE(ignore_merges=whole_words))
    tokenizer.pre_tokenizer = splitter
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=500, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
                                  special_tokens=["<|endoftext|>", "<|end|>", "<|end|>x"])
    tokenizer.train_from_iterator([LEARNT] * 3, trainer)
    return tokenizer


of_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
tokenizers = {
    "gpt2": learnt(pre_tokenizers.ByteLevel(add_prefix_space=False), False),
    "llama3": learnt(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"), of_bytes]), True),
}
random.seed(1)
TEXTS += ["".join(random.choices(PIECES, k=random.randint(2, 12))) for _ in range(90)]
cases = []
for text in TEXTS:
    case = {"text": text}
    for name, tokenizer in tokenizers.items():
        case[name] = tokenizer.encode(text).ids
        case[name + "_words"] = [len(word) for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]  # in bytes
    cases.append(case)
os.makedirs(folder, exist_ok=True)
tokenizers["gpt2"].model.save(folder)  # vocab.json and merges.txt
for name, tokenizer in tokenizers.items():
    tokenizer.save(os.path.join(folder, name + ".json"), pretty=False)
with open(os.path.join(folder, "cases.json"), "w") as file:
    file.write("[\n" + ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases) + "\n]\n")
