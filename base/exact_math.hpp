// exact_math.hpp — exp, log, pow and sin from + − × ÷ alone, so that results are equal bit for bit
// on every x86-64 machine. libm's last bits change with the CPU (measured); use these wherever a
// result can reach an event, a price or a decision. Within 2 units in the last place of the true
// value over the whole range (tested); special cases as in C (log(0) = −inf, exp(710) = inf, …).
#pragma once

namespace ukemi::exact {

double exp(double x);
double log(double x);
double log1p(double x);                    // log(1 + x), also where 1 + x would round x away
double pow(double base, double exponent);  // base ≥ 0; the sign of a zero base is not looked at
double sin(double x);                      // |x| ≤ 2^20

}  // namespace ukemi::exact
