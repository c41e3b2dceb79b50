# SPDX-License-Identifier: MIT
# needs: sbcl
cat > work.lisp <<'J'
(declaim (optimize (speed 1) (safety 3)))
(defun fact (n) (if (< n 2) 1 (* n (fact (1- n)))))
(format t "fact ~a~%" (mod (fact 800) 1000000007))
(let ((h (make-hash-table :test 'equal)) (s 0))
  (dotimes (i 50000) (setf (gethash (format nil "k~a" i) h) i))
  (maphash (lambda (k v) (incf s (+ v (length k)))) h)
  (format t "table ~a~%" s))
(let ((l nil))
  (dotimes (r 20) (setf l nil) (dotimes (i 100000) (push (cons i r) l)))
  (gc :full t)
  (format t "list ~a~%" (length l)))
(format t "error ~a~%" (handler-case (car (identity 7)) (error () "caught")))
#+sb-thread
(format t "threads ~a~%"
  (reduce #'+ (mapcar #'sb-thread:join-thread
    (loop for n below 4 collect (let ((n n)) (sb-thread:make-thread (lambda () (let ((s 0)) (dotimes (i 500000 s) (setf s (mod (+ s (* i n)) 65537)))))))))))
J
$RUN sbcl --noinform --non-interactive --load work.lisp
