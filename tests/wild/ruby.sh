# SPDX-License-Identifier: MIT
# needs: ruby
cat > work.rb <<'J'
h = Hash.new(0)
200_000.times { |i| h["w#{i % 997}"] += i }
puts "hash #{h.values.sum}"
puts "threads #{4.times.map { |t| Thread.new { (1..20_000).reduce { |a, b| (a * 31 + b + t) % 65_537 } } }.sum(&:value)}"
f = Fiber.new { 5_000.times { |i| Fiber.yield i * i }; nil }
s = 0
while (v = f.resume) do s += v end
puts "fibers #{s}"
r, w = IO.pipe
pid = fork { r.close; w.write("from the child"); w.close; exit!(7) }
w.close
puts "child #{r.read}"
Process.wait(pid)
puts "status #{$?.exitstatus}"
GC.start
puts "big #{(2**3000).to_s.size} #{("a".."zz").to_a.join.gsub(/[aeiou]./) { |m| m.upcase }.sum}"
begin
  def deep(n) = deep(n + 1) + 1
  deep(0)
rescue SystemStackError
  puts "stack overflow caught"
end
J
$RUN ruby work.rb
