// cleave.hpp - includes the library, folder by folder in the order of the data.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// meta: type lists, and laws with their sentences.
#include "cleave/meta/error.hpp"
#include "cleave/meta/fast_math.hpp"
#include "cleave/meta/law.hpp"
#include "cleave/meta/list.hpp"
#include "cleave/version.hpp"

// Laws come first, so that the compiler names few files before the sentence of a violated law.
#include "cleave/agree/laws.hpp"
#include "cleave/data/laws.hpp"
#include "cleave/layer/laws.hpp"
#include "cleave/place/laws.hpp"
#include "cleave/plan/average_laws.hpp"
#include "cleave/plan/laws.hpp"
#include "cleave/plan/members.hpp"
#include "cleave/plan/pipeline_laws.hpp"
#include "cleave/plan/sequence_laws.hpp"
#include "cleave/plan/zero_laws.hpp"
#include "cleave/predict/laws.hpp"
#include "cleave/send/laws.hpp"
#include "cleave/train/laws.hpp"

// tensor: shapes, number formats, random numbers by index.
#include "cleave/tensor/bytes.hpp"
#include "cleave/tensor/number.hpp"
#include "cleave/tensor/philox.hpp"
#include "cleave/tensor/shape.hpp"

// op: operations, each with its equation, definition and adjoint.
#include "cleave/op/equation.hpp"
#include "cleave/op/verb.hpp"

// layer: the layers of a model.
#include "cleave/layer/activation.hpp"
#include "cleave/layer/attention.hpp"
#include "cleave/layer/conv.hpp"
#include "cleave/layer/dropout.hpp"
#include "cleave/layer/embedding.hpp"
#include "cleave/layer/experts.hpp"
#include "cleave/layer/input.hpp"
#include "cleave/layer/linear.hpp"
#include "cleave/layer/loss.hpp"
#include "cleave/layer/norm.hpp"
#include "cleave/layer/padding.hpp"
#include "cleave/layer/per_position.hpp"
#include "cleave/layer/pin.hpp"
#include "cleave/layer/pool.hpp"
#include "cleave/layer/recompute.hpp"
#include "cleave/layer/recurrent.hpp"
#include "cleave/layer/residual.hpp"
#include "cleave/layer/sequential.hpp"
#include "cleave/layer/tied.hpp"

// optim: optimizers and learning rates.
#include "cleave/optim/adaptive.hpp"
#include "cleave/optim/loss_scale.hpp"
#include "cleave/optim/rate.hpp"
#include "cleave/optim/sgd.hpp"

// place: placements, their conversions, the splits of a layer.
#include "cleave/place/place.hpp"
#include "cleave/place/split.hpp"

// schedule: steps, traffic and memory of a plan, as constants.
#include "cleave/schedule/arena.hpp"
#include "cleave/schedule/listing.hpp"
#include "cleave/schedule/volume.hpp"

// sim: modelled step times; not included here: cleave/sim/step.hpp, split_for.hpp, saturation.hpp, cluster_of.hpp; the
// compiler's plan, cleave/train/plan_for.hpp; and the page of a plan's step, cleave/train/plan_page.hpp.

// agree: agreements of replicas, as pure functions from events to decisions; the same for threads and processes.
#include "cleave/agree/async.hpp"
#include "cleave/agree/averaging.hpp"
#include "cleave/agree/sync.hpp"

// send: compressed gradient formats with their residuals, and all-reduce algorithms.
#include "cleave/send/auto.hpp"
#include "cleave/send/bf16.hpp"
#include "cleave/send/check_codec.hpp"
#include "cleave/send/hierarchical.hpp"
#include "cleave/send/int8.hpp"
#include "cleave/send/one_bit.hpp"
#include "cleave/send/top_k.hpp"

// plan: a model and its policies, checked once.
#include "cleave/plan/plan.hpp"
#include "cleave/plan/same_bits.hpp"

// io: files and formats.
#include "cleave/io/cifar.hpp"
#include "cleave/io/idx.hpp"
#include "cleave/io/safetensors.hpp"

// backend/host: threads as ranks, in shared memory.
#include "cleave/backend/host/rank.hpp"

// data: data sets of one's own, in parts; not included here: of arrays and files, cleave/data/span_set.hpp, csv.hpp,
// npy.hpp, text_file.hpp, token_windows.hpp, image_set.hpp, image_folder.hpp; samples of different length,
// padded_set.hpp; weights of samples, weighted_set.hpp; random changes of training samples, augment.hpp; text as
// tokens, byte_pairs.hpp.
#include "cleave/data/check_data.hpp"
#include "cleave/data/subset.hpp"

// report: what a training tells, and callbacks that show it; for TensorBoard, cleave/report/tensorboard.hpp.
#include "cleave/report/json_lines.hpp"
#include "cleave/report/progress.hpp"

// train: trainers, checkpoints, devices; not included here: cleave/train/sweep.hpp, device_trainer.hpp, cuda.hpp,
// emulated.hpp.
#include "cleave/train/check_layer.hpp"
#include "cleave/train/check_loss.hpp"
#include "cleave/train/check_optimizer.hpp"
#include "cleave/train/measure.hpp"
#include "cleave/train/pretrained.hpp"
#include "cleave/train/report.hpp"
#include "cleave/train/torch_weights.hpp"

// predict: a trained model as a function; not included here: cleave/predict/batching_predictor.hpp, ensemble.hpp,
// generator.hpp, int8.hpp, on_device.hpp, published_files.hpp, published_weights.hpp, sample_text.hpp.
#include "cleave/predict/predictor.hpp"

// parameter_server: replicas around a server; on a virtual clock, cleave/parameter_server/simulated.hpp.
#include "cleave/parameter_server/served.hpp"

// cli: the command line of a plan, and what it leaves.
#include "cleave/cli/by_portions.hpp"
#include "cleave/cli/run.hpp"

// What cleave::compiled has is declared only.
#include "cleave/compiled.hpp"
