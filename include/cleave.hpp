// cleave.hpp - the map: every room in the order of the data. Including this file is including the library.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

// meta: can we say it? Lists of types, laws and their sentences.
#include "cleave/meta/error.hpp"
#include "cleave/meta/fast_math.hpp"
#include "cleave/meta/law.hpp"
#include "cleave/meta/list.hpp"
#include "cleave/version.hpp"

// The laws stand first, so that a refusal names few files before its sentence.
#include "cleave/agree/laws.hpp"
#include "cleave/layer/laws.hpp"
#include "cleave/place/laws.hpp"
#include "cleave/plan/laws.hpp"
#include "cleave/plan/members.hpp"
#include "cleave/run/laws.hpp"
#include "cleave/send/laws.hpp"

// tensor: what is a datum? Shapes, number formats, random numbers by index.
#include "cleave/tensor/bytes.hpp"
#include "cleave/tensor/number.hpp"
#include "cleave/tensor/philox.hpp"
#include "cleave/tensor/shape.hpp"

// op: which verbs exist? Each operation with its equation, its definition and its adjoint.
#include "cleave/op/equation.hpp"
#include "cleave/op/verb.hpp"

// layer: what is computed? The words a model is written in.
#include "cleave/layer/activation.hpp"
#include "cleave/layer/conv.hpp"
#include "cleave/layer/dropout.hpp"
#include "cleave/layer/embedding.hpp"
#include "cleave/layer/input.hpp"
#include "cleave/layer/linear.hpp"
#include "cleave/layer/loss.hpp"
#include "cleave/layer/norm.hpp"
#include "cleave/layer/pool.hpp"
#include "cleave/layer/residual.hpp"
#include "cleave/layer/sequential.hpp"

// optim: how do weights change?
#include "cleave/optim/adaptive.hpp"
#include "cleave/optim/rate.hpp"
#include "cleave/optim/sgd.hpp"

// place: where does it live? Placements, their conversions, the ways to cut a layer.
#include "cleave/place/place.hpp"
#include "cleave/place/split.hpp"

// schedule: in which order, with whom, in which bytes? A constant.
#include "cleave/schedule/arena.hpp"
#include "cleave/schedule/build.hpp"
#include "cleave/schedule/listing.hpp"
#include "cleave/schedule/volume.hpp"

// sim: what would a plan do elsewhere? Modelled; asked for by itself: cleave/sim/step.hpp, cleave/sim/saturation.hpp

// agree: when does an update count? Pure functions from events to decisions, the same for threads and processes.
#include "cleave/agree/async.hpp"
#include "cleave/agree/averaging.hpp"
#include "cleave/agree/sync.hpp"

// send: how do gradients travel? Formats, with what they leave for the next time, and routes.
#include "cleave/send/auto.hpp"
#include "cleave/send/bf16.hpp"
#include "cleave/send/hierarchical.hpp"
#include "cleave/send/int8.hpp"
#include "cleave/send/one_bit.hpp"
#include "cleave/send/top_k.hpp"

// plan: what did the user ask? A model and its policies, checked once.
#include "cleave/plan/plan.hpp"

// io: files and formats.
#include "cleave/io/cifar.hpp"
#include "cleave/io/idx.hpp"
#include "cleave/io/safetensors.hpp"

// backend/host: with which instructions? Threads as ranks, in shared memory.
#include "cleave/backend/host/rank.hpp"

// run: train it; on a virtual clock, cleave/run/simulated.hpp.
#include "cleave/run/by_portions.hpp"
#include "cleave/run/check_layer.hpp"
#include "cleave/run/run.hpp"
#include "cleave/run/served.hpp"
