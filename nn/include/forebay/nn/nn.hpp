// Everything of forebay::nn.
#pragma once

#include "forebay/nn/adam.hpp"
#include "forebay/nn/autograd.hpp"
#include "forebay/nn/layers.hpp"
#include "forebay/nn/loss.hpp"
#include "forebay/nn/module.hpp"
