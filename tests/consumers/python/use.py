"""What a user of the modules expects: arrays of any kind in and out, errors, Ctrl-C, PyTorch where it is."""
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
import json
import os
import resource
import signal
import tempfile
import threading
import unittest

import flowers
import numpy
import sine
import tagger

try:
    import torch
    from safetensors.torch import load_file, save_file
except ImportError:
    torch = None


def samples(n, seed=1):
    draw = numpy.random.default_rng(seed)
    x = draw.standard_normal((n, 64)).astype(numpy.float32)
    return x, x[:, :3].argmax(axis=1)


def interrupt_in(epoch):
    def watch(now):
        if now.epoch == epoch:
            raise KeyboardInterrupt

    return watch


class Modules(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "flowers.safetensors")

    def test_fit_learns_and_a_file_gives_the_same_outputs(self):
        x, y = samples(960)
        trainer = flowers.Trainer(replicas=2, seed=3)
        history = trainer.fit(x, y, epochs=30, validation=0.1)
        self.assertEqual([e.epoch for e in history.epochs], list(range(1, 31)))
        self.assertLess(history.best.val_loss, history.epochs[0].val_loss)
        trainer.save(self.file)
        predict = flowers.Predictor(self.file, threads=2)
        numpy.testing.assert_array_equal(predict(x), trainer.predictor()(x))
        test, labels = samples(300, seed=2)
        self.assertEqual(float((predict.classes(test) == labels).mean()), float(numpy.float64(trainer.evaluate(test, labels).accuracy)))
        self.assertGreater(trainer.evaluate(test, labels).accuracy, 0.8)
        self.assertTrue(numpy.allclose(predict.probabilities(test).sum(axis=1), 1, atol=1e-5))
        again = flowers.Trainer(replicas=1, seed=3)
        again.load(self.file)
        numpy.testing.assert_array_equal(again.predictor()(x), predict(x))

    def test_a_class_for_each_position(self):
        x = numpy.random.default_rng(1).integers(0, 10, (400, 6))
        y = x % 3
        y[::4, 4:] = -1  # do not count
        trainer = tagger.Trainer(seed=2)
        self.assertGreater(trainer.fit(x, y, epochs=30, validation=0.2).best.val_accuracy, 0.9)
        predict = trainer.predictor()
        self.assertEqual(predict(x).shape, (400, 6, 3))
        self.assertEqual(predict.probabilities(x[:5]).shape, (5, 6, 3))
        self.assertGreater((predict.classes(x) == x % 3).mean(), 0.9)
        with self.assertRaisesRegex(tagger.Error, r"y: an array of shape \(400\), not \(n, 6\): one class a position"):
            trainer.fit(x, x[:, 0] % 3)
        with self.assertRaisesRegex(tagger.Error, r"y, sample 3: label -2 is no class"):
            trainer.fit(x, numpy.where(numpy.arange(400)[:, None] == 3, -2, x % 3))

    def test_samples_have_weights(self):
        x = numpy.random.default_rng(1).integers(0, 10, (400, 6))
        wrong = numpy.arange(400) % 2 == 0
        y = numpy.where(wrong[:, None], (x + 1) % 3, x % 3)
        trainer = tagger.Trainer(seed=2)
        trainer.fit(x, y, epochs=30, sample_weights=1.0 - wrong)
        self.assertGreater((trainer.predictor().classes(x) == x % 3).mean(), 0.9)
        with self.assertRaisesRegex(tagger.Error, r"fit: 2 \.sample_weights for 400 samples"):
            trainer.fit(x, y, sample_weights=numpy.ones(2))

    def test_a_training_leaves_a_log_and_a_report(self):
        x, y = samples(320)
        folder = os.path.dirname(self.file)
        log, report = os.path.join(folder, "run.jsonl"), os.path.join(folder, "report.html")
        flowers.Trainer(seed=3).fit(x, y, epochs=4, validation=0.2, log=log, report=report, progress=True)
        with open(log) as lines:
            self.assertEqual([json.loads(line)["epoch"] for line in lines], [1, 2, 3, 4])
        with open(report) as page:
            self.assertTrue('"held_out":[[' in page.read())

    def test_fit_goes_on_from_its_checkpoint(self):
        x, y = samples(320)
        whole, first, second = (flowers.Trainer(seed=3) for _ in range(3))
        whole.fit(x, y, epochs=4)
        self.assertRaises(KeyboardInterrupt, lambda: first.fit(x, y, epochs=4, checkpoint=self.file, watch=interrupt_in(3)))
        history = second.fit(x, y, epochs=4, checkpoint=self.file)
        self.assertEqual([e.epoch for e in history.epochs], [1, 2, 3, 4])
        numpy.testing.assert_array_equal(second.predictor()(x), whole.predictor()(x))

    def test_arrays_of_any_type_and_order_give_the_same(self):
        x, y = samples(64)
        trainer = flowers.Trainer()
        predict = trainer.predictor()
        wanted = predict(x)
        frozen = x.copy()
        frozen.flags.writeable = False
        for same in (x.astype(numpy.float64), numpy.asfortranarray(x), x.reshape(64, 4, 16), frozen):
            numpy.testing.assert_array_equal(predict(same), wanted)
        scores = {trainer.evaluate(x, labels).loss for labels in (y, y.astype(numpy.uint8), y.astype(numpy.int32))}
        self.assertEqual(len(scores), 1)

    def test_inputs_are_not_copied_and_outputs_are_handed_over(self):
        x = numpy.ones((1 << 20, 64), numpy.float32)  # 256 MiB
        predict = flowers.Trainer().predictor()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        out = predict(x)
        self.assertLess(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, 64 << 10)
        del predict
        shared = numpy.from_dlpack(out)
        out[5, 1] = 7
        self.assertEqual(shared[5, 1], 7)
        self.assertEqual(shared.shape, (1 << 20, 3))

    def test_errors_name_what_is_wrong(self):
        x, y = samples(64)
        trainer = flowers.Trainer()
        for said, call in (
            (r"x: an array of shape \(64, 63\), not \(n, 64\)", lambda: trainer.fit(x[:, 1:], y)),
            (r"y: classes are whole numbers", lambda: trainer.fit(x, y + 0.5)),
            (r"y, sample 0: label -1", lambda: trainer.fit(x, y * 0 - 1)),
            (r"y, sample 3: label 3, but there are 3 classes", lambda: trainer.fit(x, numpy.where(numpy.arange(64) == 3, 3, 0))),
            (r"x: an array of an element type that is not read", lambda: trainer.fit(x.astype(complex), y)),
            (r"which cross_entropy does not read", lambda: trainer.fit(x, y, sample_weights=numpy.ones(64))),
            (r"sample_weights: an array of shape \(64, 2\), not \(n, 1\)", lambda: trainer.fit(x, y, sample_weights=numpy.ones((64, 2)))),
            (r"fit: 0 epochs", lambda: trainer.fit(x, y, epochs=0)),
            (r"no\.safetensors: cannot open", lambda: flowers.Predictor("no.safetensors")),
        ):
            with self.assertRaisesRegex(flowers.Error, said):
                call()
        with self.assertRaises(TypeError):
            trainer.fit(x, y, epoch=3)
        self.assertIsNot(flowers.Error, sine.Error)

    def test_a_function_is_told_of_epochs_and_ends_the_training(self):
        x, y = samples(64)
        seen = []
        history = flowers.Trainer().fit(x, y, epochs=9, watch=lambda e: seen.append(e.loss) or len(seen) == 2)
        self.assertEqual([e.loss for e in history.epochs], seen)
        self.assertTrue(history.stopped_early)
        with self.assertRaises(ZeroDivisionError):
            flowers.Trainer().fit(x, y, watch=lambda e: 1 / 0)

    def test_interrupts_end_a_training_and_other_threads_run_meanwhile(self):
        x, y = samples(64)
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            flowers.Trainer().fit(x, y, epochs=10_000_000)
        x, y = numpy.ones((1 << 20, 64), numpy.float32), numpy.zeros(1 << 20, numpy.uint8)
        trainer = flowers.Trainer()
        threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        with self.assertRaises(KeyboardInterrupt):
            trainer.fit(x, y)
        self.assertLess(trainer.steps, (1 << 20) // 32)  # within the epoch

    def test_the_rate_and_the_judge_of_epochs_are_options(self):
        x, y = samples(256)
        still = flowers.Trainer().fit(x, y, epochs=2, rate=0.0)
        self.assertAlmostEqual(still.epochs[0].loss, still.epochs[1].loss, places=5)
        history = flowers.Trainer().fit(x, y, epochs=4, validation=0.25, monitor="val_accuracy", best="highest")
        self.assertEqual(history.best.val_accuracy, max(e.val_accuracy for e in history.epochs))
        with self.assertRaisesRegex(flowers.Error, 'best is "lowest" or "highest", not "most"'):
            flowers.Trainer().fit(x, y, best="most")

    def test_the_plan_is_text(self):
        self.assertIn("all_reduce", flowers.plan(2))
        self.assertIn("memory per rank", sine.plan())

    @unittest.skipUnless(torch, "no PyTorch here")
    def test_weights_and_arrays_go_to_pytorch_and_back(self):
        net = torch.nn.Sequential(torch.nn.Linear(64, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
        save_file(net.state_dict(), self.file)
        names = {0: "0", 2: "2"}
        x = torch.randn(100, 64)
        with torch.no_grad():
            wanted = net(x)
        out = torch.from_dlpack(flowers.Predictor(self.file, names)(x))
        torch.testing.assert_close(out, wanted, atol=1e-5, rtol=1e-5)
        trainer = flowers.Trainer()
        trainer.load_torch(self.file, names)
        trainer.save_torch(self.file, names)
        back = load_file(self.file)
        self.assertTrue(all(torch.equal(back[k], v) for k, v in net.state_dict().items()))


unittest.main()
