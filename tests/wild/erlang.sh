# SPDX-License-Identifier: MIT
# needs: erl
cat > work.erl <<'J'
-module(work).
-export([main/0]).
ring(0, First) -> receive M -> First ! M end;
ring(N, First) -> P = spawn(fun() -> ring(N - 1, First) end), receive M -> P ! M + 1 end.
main() ->
    Self = self(),
    P = spawn(fun() -> ring(2000, Self) end),
    P ! 0,
    receive V -> io:format("ring ~p~n", [V]) end,
    T = ets:new(t, []),
    [ets:insert(T, {I, I * I}) || I <- lists:seq(1, 20000)],
    io:format("ets ~p~n", [lists:sum([V2 || {_, V2} <- ets:tab2list(T)])]),
    Parts = [begin spawn(fun() -> Self ! {sum, lists:sum([X * X rem 17 || X <- lists:seq(K, K + 30000)])} end) end || K <- [1, 2, 3, 4]],
    io:format("parallel ~p~n", [lists:sum([receive {sum, S} -> S end || _ <- Parts])]),
    halt(0).
J
erlc work.erl
$RUN erl -noshell -s work main
