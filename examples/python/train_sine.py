"""A curve learnt from NumPy arrays by a plan, which sine.cpp makes a module."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import numpy
import sine

x = numpy.linspace(0, 6.28, 2000, dtype=numpy.float32)
trainer = sine.Trainer(replicas=2)
history = trainer.fit(x, numpy.sin(x), epochs=200, validation=0.1, patience=5)
trainer.save("sine.safetensors")
print(f"{len(history.epochs)} epochs, best {history.best.epoch}: val_loss {history.best.val_loss:.6f}")

predict = sine.Predictor("sine.safetensors")
print(f"sine(0.5) = {predict(numpy.array([0.5]))[0, 0]:.3f}")
