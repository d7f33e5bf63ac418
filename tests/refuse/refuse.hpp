// refuse/refuse.hpp - what a refused program includes: all that a plan is made of, and nothing that runs it.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cleave/agree/laws.hpp>
#include <cleave/layer/laws.hpp>
#include <cleave/place/laws.hpp>
#include <cleave/plan/average_laws.hpp>
#include <cleave/plan/laws.hpp>
#include <cleave/plan/pipeline_laws.hpp>
#include <cleave/plan/sequence_laws.hpp>
#include <cleave/plan/zero_laws.hpp>
#include <cleave/send/laws.hpp>
//
#include <cleave/layer/activation.hpp>
#include <cleave/layer/attention.hpp>
#include <cleave/layer/conv.hpp>
#include <cleave/layer/dropout.hpp>
#include <cleave/layer/embedding.hpp>
#include <cleave/layer/experts.hpp>
#include <cleave/layer/input.hpp>
#include <cleave/layer/linear.hpp>
#include <cleave/layer/loss.hpp>
#include <cleave/layer/norm.hpp>
#include <cleave/layer/per_position.hpp>
#include <cleave/layer/pin.hpp>
#include <cleave/layer/pool.hpp>
#include <cleave/layer/recurrent.hpp>
#include <cleave/layer/residual.hpp>
#include <cleave/layer/sequential.hpp>
#include <cleave/plan/plan.hpp>
#include <cleave/tensor/bytes.hpp>

using namespace cleave;  // NOLINT: these are user programs
