# SPDX-License-Identifier: MIT
# needs: php
cat > work.php <<'J'
<?php
$a = [];
for ($i = 0; $i < 100000; $i++) $a["k" . ($i * 7919 % 100003)] = $i;
ksort($a);
echo "sort ", md5(implode(",", array_keys($a))), "\n";
$n = preg_match_all('/k(\d)\1/', implode(" ", array_keys($a)));
echo "preg $n\n";
function fib($n) { return $n < 2 ? $n : fib($n - 1) + fib($n - 2); }
echo "fib ", fib(20), "\n";
try { throw new RuntimeException("x"); } catch (Exception $e) { echo "caught ", $e->getMessage(), "\n"; }
echo "hash ", hash("sha512", str_repeat("q", 500000)), "\n";
J
$RUN php work.php
